// A histogram of durations.
#pragma once

#include <cstdint>
#include <map>

namespace shadowprof {

using CycleHistogram = std::map<std::uint64_t, std::uint64_t>;  // from cycles to count

inline std::uint64_t total(const CycleHistogram& histogram) {
    std::uint64_t sum = 0;
    for (const auto& [cycles, count] : histogram) sum += count;
    return sum;
}

// Returns the value that at least this share, in (0, 1], of the counts do not exceed; 0 for an
// empty histogram.
inline std::uint64_t quantile(const CycleHistogram& histogram, double share) {
    const auto wanted = share * static_cast<double>(total(histogram));
    std::uint64_t below = 0;
    for (const auto& [cycles, count] : histogram) {
        below += count;
        if (static_cast<double>(below) >= wanted) return cycles;
    }
    return 0;
}

inline double median(const CycleHistogram& histogram) {
    return static_cast<double>(quantile(histogram, 0.5));
}

}  // namespace shadowprof
