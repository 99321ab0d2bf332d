// Limits for counts in profiles that are added up further.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shadowprof {

// Limit for moves by one distance and for occurrences of a stream. Sums of 255 such numbers fit.
inline constexpr std::uint64_t max_moves = std::uint64_t{1} << 56;

// Needs both within the limit, which the sum is then, too. The order of additions makes no
// difference.
inline void add_moves(std::uint64_t& sum, std::uint64_t count) {
    sum = std::min(sum + count, max_moves);
}

}  // namespace shadowprof
