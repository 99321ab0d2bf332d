// How large counts in profiles may be that are added up further.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shadowprof {

// The most moves by one distance, and the most occurrences of a stream: sums of 255 of them fit.
inline constexpr std::uint64_t most_moves = std::uint64_t{1} << 56;

// Both within the limit, as the sum is then. The order of additions makes no difference.
inline void add_moves(std::uint64_t& sum, std::uint64_t count) {
    sum = std::min(sum + count, most_moves);
}

}  // namespace shadowprof
