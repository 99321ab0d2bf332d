// How large a profile file may be, and which parts of it are bounded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

inline constexpr std::uint64_t default_max_profile_bytes = 32'000'000;
inline constexpr std::uint64_t least_max_profile_bytes = 1'000'000;

// The parts of a profile that do not grow with the program's code alone. The rest is for the
// others.
constexpr std::uint64_t max_stack_bytes(std::uint64_t max_profile_bytes) {
    return max_profile_bytes / 8 * 3;
}
constexpr std::uint64_t max_path_bytes(std::uint64_t max_profile_bytes) {
    return max_profile_bytes / 4;
}

// Sizes in a file, about. Numbers of locations mostly have five digits.
constexpr std::uint64_t stack_file_bytes(std::size_t calls) {
    constexpr std::uint64_t bytes_without_calls = 130, bytes_per_call = 6;
    return bytes_without_calls + bytes_per_call * calls;
}
constexpr std::uint64_t path_file_bytes(std::size_t blocks) {
    constexpr std::uint64_t bytes_without_blocks = 80, bytes_per_block = 6;
    return bytes_without_blocks + bytes_per_block * blocks;
}

}  // namespace shadowprof
