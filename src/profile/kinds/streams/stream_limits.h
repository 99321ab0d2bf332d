// Limits for the data streams in a profile.
#pragma once

#include <cstdint>

namespace shadowprof {

struct StreamLimits {
    static constexpr std::uint32_t shortest = 2, longest = 1000;  // bounds for the lengths below

    std::uint32_t min_length = 2, max_length = 100;  // in references
    double min_heat_percent = 0.1;                   // share of all references traced

    friend bool operator==(const StreamLimits&, const StreamLimits&) = default;
};

}  // namespace shadowprof
