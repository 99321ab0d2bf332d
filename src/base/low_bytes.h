#pragma once

#include <cstdint>

namespace shadowprof {

// A value's low bytes, zero-extended; all of it from 8 on.
constexpr std::uint64_t low_bytes(std::uint64_t value, unsigned bytes) {
    return bytes >= 8 ? value : value & ((std::uint64_t{1} << 8 * bytes) - 1);
}

}  // namespace shadowprof
