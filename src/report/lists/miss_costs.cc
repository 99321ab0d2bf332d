#include "report/lists/miss_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

using LevelCycles = std::array<double, usual_latencies.size()>;

// Nothing if a level is missing, was not told from its neighbour, or is faster than the one before.
// The numbers may be anything: they are the profile's.
std::optional<LevelCycles> measured(const std::optional<LatencyHost>& host) {
    if (!host) return std::nullopt;
    LevelCycles cycles{};
    for (std::size_t i = 0; i < usual_latencies.size(); ++i) {
        const auto level =
            std::ranges::find(host->levels, usual_latencies[i].level, &LatencyLevel::name);
        if (level == host->levels.end() || !std::isfinite(level->median_cycles))
            return std::nullopt;
        cycles[i] = level->median_cycles;
    }
    return std::ranges::is_sorted(cycles) ? std::optional(cycles) : std::nullopt;
}

LevelCycles usual() {
    LevelCycles cycles{};
    std::ranges::transform(usual_latencies, cycles.begin(), &UsualLatency::cycles);
    return cycles;
}

}  // namespace

std::uint64_t MissCosts::of(const CacheAccesses& accesses) const {
    constexpr double most = 1e18;  // counts may be anything
    const double cycles = l1 * static_cast<double>(accesses.l1_misses) +
                          l2 * static_cast<double>(accesses.l2_misses) +
                          l3 * static_cast<double>(accesses.l3_misses);
    return static_cast<std::uint64_t>(std::min(std::round(cycles), most));
}

std::string MissCosts::text() const {
    return fmt::format("about {:.0f} cycles for a miss of L1, {:.0f} of L2, {:.0f} of L3 ({})", l1,
                       l2, l3, are_measured ? "as measured on its machine" : "usual latencies");
}

MissCosts miss_costs(const std::optional<LatencyHost>& host) {
    const auto known = measured(host);
    const LevelCycles cycles = known ? *known : usual();
    return {.l1 = cycles[1] - cycles[0],
            .l2 = cycles[2] - cycles[1],
            .l3 = cycles[3] - cycles[2],
            .are_measured = known.has_value()};
}

}  // namespace shadowprof
