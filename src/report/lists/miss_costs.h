// An estimate of what the misses of the modelled caches cost.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace shadowprof {

// A level of memory, and in how many cycles a load from it usually has its value.
struct UsualLatency {
    std::string_view level;  // as LatencyLevel::name
    double cycles = 0;
};
// Used where no latencies were measured: round numbers for a server processor of 2023, with memory
// in some 80 ns. They decide an order, not a time.
inline constexpr std::array<UsualLatency, 4> usual_latencies{
    {{"L1", 4}, {"L2", 14}, {"L3", 50}, {"memory", 350}}};

// What a miss in a level costs: the cycles by which the next level is slower. An access that misses
// in several levels costs the sum.
struct MissCosts {
    double l1 = 0, l2 = 0, l3 = 0;
    bool are_measured = false;  // on the machine of the profile

    std::uint64_t of(const CacheAccesses& accesses) const;
    // "about 10 cycles for a miss of L1, 36 of L2, 300 of L3 (usual latencies)"
    std::string text() const;
};

// Returns the costs by the host's latencies if each level was measured, else by the usual ones.
MissCosts miss_costs(const std::optional<LatencyHost>& host);

}  // namespace shadowprof
