// Scales counts of samples with different weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "profile/statistics/batch_means.h"

namespace shadowprof {

// Scales weighted counts so that the mean weight of an instruction is 1. If all weights are equal,
// the results are exactly the counts without weights.
struct CountScale {
    std::uint64_t instructions = 0;  // number executed
    std::uint64_t weighted = 0;      // the sum of their weights

    // Rounds to the nearest whole number, but never to 0 if `count` is not 0.
    std::uint64_t operator()(std::uint64_t count) const {
        if (count == 0 || weighted == instructions || weighted == 0) return count;
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide{count} * instructions + weighted / 2;
        return std::max<std::uint64_t>(static_cast<std::uint64_t>(product / weighted), 1);
    }
    // Scales an error and rounds it upwards to tenths.
    std::optional<double> error(std::optional<double> weighted_error) const {
        if (!weighted_error) return std::nullopt;
        return tenths_upwards(*weighted_error * factor());
    }
    double factor() const {
        return weighted == 0 ? 1
                             : static_cast<double>(instructions) / static_cast<double>(weighted);
    }
};

}  // namespace shadowprof
