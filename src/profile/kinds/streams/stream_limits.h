// Limits for the data streams in a profile.
#pragma once

#include <cstdint>

namespace shadowprof {

struct StreamLimits {
    static constexpr std::uint32_t shortest = 2, longest = 1000;  // bounds for the lengths below

    std::uint32_t least_length = 2, most_length = 100;  // in references
    double least_heat_percent = 0.1;                    // share of all references traced

    friend bool operator==(const StreamLimits&, const StreamLimits&) = default;
};

}  // namespace shadowprof
