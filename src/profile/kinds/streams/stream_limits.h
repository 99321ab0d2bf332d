// Which data streams a profile tells of.
#pragma once

#include <cstdint>

namespace shadowprof {

struct StreamLimits {
    static constexpr std::uint32_t shortest = 2, longest = 1000;  // that can be asked for

    std::uint32_t least_length = 2, most_length = 100;  // in references
    double least_heat_percent = 0.1;                    // of all references that were traced

    friend bool operator==(const StreamLimits&, const StreamLimits&) = default;
};

}  // namespace shadowprof
