// Counts of samples that stand for unlike stretches of the program's time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "profile/statistics/batch_means.h"

namespace shadowprof {

// Brings weighted counts back to what was seen: so that the mean weight of an instruction is 1.
// Where all weights are equal, counts come out exactly as if there were none.
struct CountScale {
    std::uint64_t instructions = 0;  // as executed
    std::uint64_t weighted = 0;      // the same, each times its sample's weight

    // To the nearest whole number; what was seen never becomes 0.
    std::uint64_t operator()(std::uint64_t count) const {
        if (count == 0 || weighted == instructions || weighted == 0) return count;
        __extension__ using Wide = unsigned __int128;
        const Wide product = Wide{count} * instructions + weighted / 2;
        return std::max<std::uint64_t>(static_cast<std::uint64_t>(product / weighted), 1);
    }
    // Scales an error, and rounds it upwards to tenths.
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
