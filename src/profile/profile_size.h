// How large a profile file may be, and which parts of it are bounded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

inline constexpr std::uint64_t default_max_profile_bytes = 32'000'000;
inline constexpr std::uint64_t least_max_profile_bytes = 1'000'000;

// The parts of a profile that are bounded: call stacks and paths do not grow with the program's
// code alone, and values take a kilobyte for an instruction.
constexpr std::uint64_t max_stack_bytes(std::uint64_t max_profile_bytes) {
    return max_profile_bytes / 8 * 3;
}
constexpr std::uint64_t max_path_bytes(std::uint64_t max_profile_bytes) {
    return max_profile_bytes / 4;
}
constexpr std::uint64_t max_timeline_bytes(std::uint64_t max_profile_bytes) {
    return max_profile_bytes / 16;
}
// Values may have what all other lists leave, but always so much.
constexpr std::uint64_t least_value_bytes(std::uint64_t max_profile_bytes) {
    return max_profile_bytes / 16;
}

// Sizes in a file, about, and rather too large. Numbers of locations mostly have five digits.
constexpr std::uint64_t stack_file_bytes(std::size_t calls) {
    constexpr std::uint64_t bytes_without_calls = 130, bytes_per_call = 6;
    return bytes_without_calls + bytes_per_call * calls;
}
constexpr std::uint64_t path_file_bytes(std::size_t blocks) {
    constexpr std::uint64_t bytes_without_blocks = 80, bytes_per_block = 6;
    return bytes_without_blocks + bytes_per_block * blocks;
}
// Of one instruction's values, with its location; of one caller's; and of one value, which is
// written in hexadecimal and as text, without the zeros that lead it.
inline constexpr std::uint64_t values_file_bytes = 330;
constexpr std::uint64_t caller_file_bytes(std::size_t callers) {
    constexpr std::uint64_t bytes_without_callers = 112, bytes_per_caller = 7;
    return bytes_without_callers + bytes_per_caller * callers;
}
constexpr std::uint64_t value_file_bytes(std::size_t bytes) {
    constexpr std::uint64_t bytes_without_value = 66, bytes_per_byte = 5;
    return bytes_without_value + bytes_per_byte * bytes;
}

// Of a record of another list, and of a location.
inline constexpr std::uint64_t record_file_bytes = 80, location_file_bytes = 165;

}  // namespace shadowprof
