// Recorded values and their types as a profile spells them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shadowprof {

// Widest operand that a profile may hold: a tile row is 64 bytes, as is a ZMM register.
inline constexpr std::uint32_t widest_value_bytes = 64;

// "u8" to "u64" for what fits a general register, "v128" and the like for other widths.
std::string value_type(std::uint32_t width_bytes);
// The width that such a type has; nothing if it is none.
std::optional<std::uint32_t> value_type_bytes(std::string_view type);

// A little-endian value as one hexadecimal number, without leading zeros: "0x7".
std::string value_hex(std::span<const std::byte> value);
// The reverse, for a value `width_bytes` wide; nothing if the text is no such number.
std::optional<std::vector<std::byte>> value_from_hex(std::string_view text,
                                                     std::uint32_t width_bytes);

// How a reader wants it: integers unsigned in decimal, vectors as their 64-bit lanes in
// hexadecimal, the lowest first: "0x3ff0000000000000 0x0".
std::string value_text(std::span<const std::byte> value);

}  // namespace shadowprof
