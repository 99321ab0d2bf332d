// What a probe makes of the values that it records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shadowprof {

enum class Reducer : std::uint8_t {
    count,      // how often
    sum,        // sum of the values
    hotlist,    // the most frequent values
    histogram,  // values by powers of two, with the least, the most and the mean
};

// The spelling in probes and profiles, indexed by Reducer.
inline constexpr std::array<std::string_view, 4> reducer_names = {"count", "sum", "hotlist",
                                                                  "histogram"};
inline std::string_view name(Reducer reducer) {
    return reducer_names[static_cast<std::size_t>(reducer)];
}

}  // namespace shadowprof
