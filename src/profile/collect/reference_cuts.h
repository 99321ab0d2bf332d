// Where a sequence of references is cut, by nothing but what stands around the place.
//
// The rules of a grammar begin and end where the sequence happened to be met before, so that the
// same references are in other rules in a sample than in the whole run. Cuts are not: before a
// reference whose key is the least one within some distance there is a cut, as in "winnowing"
// (Schleimer, Wilkerson and Aiken, SIGMOD 2003) and locally consistent parsing. Keys are
// pseudo-random, and the same in each run that has the same addresses. The further it is to a
// lesser key, the higher is the cut; a loop's cuts are at the same place of each iteration,
// whatever it began with.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "profile/profile.h"
#include "profile/statistics/random.h"

namespace shadowprof {

// References to each side that are looked at for a cut of height 1, 2, ...
inline constexpr std::array<std::uint8_t, 4> cut_distances{1, 2, 4, 8};
inline constexpr std::size_t farthest_cut_distance = cut_distances.back();
inline constexpr std::uint8_t highest_cut = cut_distances.size();

// The module's number is not part of it: it may be another one in another run.
constexpr std::uint64_t cut_key(CodeLocation at, std::uint64_t address) {
    return mix64(at.address ^ mix64(address));
}

// The height of the cut before `keys[at]`, 0 if there is none. What is beyond the ends of `keys` is
// taken for greater.
constexpr std::uint8_t cut_height(std::span<const std::uint64_t> keys, std::size_t at) {
    const std::uint64_t key = keys[at];
    std::uint8_t height = 0;
    for (std::size_t distance = 1; distance <= farthest_cut_distance; ++distance) {
        if (at >= distance && keys[at - distance] < key) break;
        if (at + distance < keys.size() && keys[at + distance] < key) break;
        if (distance == cut_distances[height]) ++height;
    }
    return height;
}

}  // namespace shadowprof
