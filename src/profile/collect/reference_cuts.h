// Cuts a sequence of references at places that depend only on the references nearby.
//
// The rules of a grammar begin and end where the sequence was met before, so the same references
// are in other rules in a sample than in the whole run. Cuts avoid that: there is a cut before each
// reference whose key is the least within some distance, as in "winnowing" (Schleimer, Wilkerson
// and Aiken, SIGMOD 2003) and locally consistent parsing. Keys are pseudo-random, and the same in
// each run that has the same addresses. The further away the next smaller key is, the higher is the
// cut. A loop's cuts are at the same place of each iteration, whatever the sequence began with.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "profile/profile.h"
#include "profile/statistics/random.h"

namespace shadowprof {

// Distances, in references to each side, that a cut of height 1, 2, ... needs.
inline constexpr std::array<std::uint8_t, 4> cut_distances{1, 2, 4, 8};
inline constexpr std::size_t farthest_cut_distance = cut_distances.back();
inline constexpr std::uint8_t highest_cut = cut_distances.size();

// The module's number is left out, as it may differ between runs.
constexpr std::uint64_t cut_key(CodeLocation at, std::uint64_t address) {
    return mix64(at.address ^ mix64(address));
}

// Returns the height of the cut before `keys[at]`, 0 if there is none. Keys beyond the ends of
// `keys` count as greater.
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
