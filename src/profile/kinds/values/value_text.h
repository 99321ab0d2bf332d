// Recorded values and their types as a profile spells them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value_type.h"

namespace shadowprof {

// Widest operand that a profile may hold: a tile row is 64 bytes, as is a ZMM register.
inline constexpr std::uint32_t widest_value_bytes = 64;

// "u8" to "u64", "f32" and "f64" for one number; "u32x4", "f64x2" and the like for lanes; "v128"
// and the like for bits.
std::string value_type(ValueType type, std::uint32_t width_bytes);

struct WideType {
    ValueType type;  // canonical
    std::uint32_t width_bytes = 0;

    friend bool operator==(const WideType&, const WideType&) = default;
};
// The reverse; nothing if the name is none of a type of at most 64 bytes.
std::optional<WideType> value_type_of(std::string_view name);

// A little-endian value as one hexadecimal number, without leading zeros: "0x7".
std::string value_hex(std::span<const std::byte> value);
// The reverse, for a value `width_bytes` wide; nothing if the text is no such number.
std::optional<std::vector<std::byte>> value_from_hex(std::string_view text,
                                                     std::uint32_t width_bytes);

// How a reader wants it. Lanes of numbers in decimal, the lowest first: "1 0.1"; integers are
// unsigned, floating-point numbers the shortest that read back as the same. Bits in hexadecimal, 64
// at a time: "0x3ff0000000000000 0x0".
std::string value_text(std::span<const std::byte> value, ValueType type);

}  // namespace shadowprof
