// Recorded values as numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shadowprof {

// The first 8 bytes of a little-endian value; bytes that it lacks are 0.
inline std::uint64_t number_of(std::span<const std::byte> value) {
    std::uint64_t number = 0;
    for (std::size_t i = std::min<std::size_t>(value.size(), 8); i-- > 0;)
        number = number << 8 | std::to_integer<std::uint64_t>(value[i]);
    return number;
}

}  // namespace shadowprof
