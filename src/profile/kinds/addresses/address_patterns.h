// How the addresses of one static load follow each other: whether a prefetcher could predict them.
//
// For each execution of a load after another one in the same burst, the difference of the two
// addresses is taken. It is zero, the stride (the load's most frequent other difference), or any
// other. An execution with any other difference is part of a chase if its address was itself
// loaded, by this load or another one, give or take a constant. Values are not traced at the same
// time, so the trace shows only that the base register was last written by a load.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/stride_counts.h"
#include "profile/collect/reference.h"
#include "profile/profile.h"

namespace shadowprof {

class AddressPatterns {
  public:
    struct Load : AddressSteps {
        ReferenceSite site = 0;
        std::uint64_t last_address = 0;
        std::uint64_t last_burst = 0;  // 0: never executed
    };
    static constexpr std::size_t max_loads = 1 << 20;

    // The next reference does not follow the last one.
    void forget() {
        ++burst_;
        loaded_ = 0;
    }
    // Like HazardFinder::take(). Only the first load of an instruction counts.
    void take(const Reference& reference, std::uint64_t weight);

    const std::vector<Load>& loads() const { return loads_; }

  private:
    void note(const Reference& reference, std::uint64_t weight);

    std::vector<std::uint32_t> by_site_;  // indices in loads_, plus 1
    std::vector<Load> loads_;
    std::uint64_t burst_ = 1;
    std::uint16_t loaded_ = 0;  // registers that hold a loaded value plus a constant
    bool loads_now_ = false;    // the current instruction has loaded
};

// Sums over all collectors for one load. `stride` is the most frequent one.
AddressMoves address_moves(std::uint64_t constant, std::uint64_t moved, std::uint64_t chased,
                           const StrideCounts::Entry& stride);

}  // namespace shadowprof
