// The spelling of values and their types in profiles.
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

// The widest operand in a profile: a tile row or a ZMM register, 64 bytes.
inline constexpr std::uint32_t widest_value_bytes = 64;

// Returns the name of a type: "u8" to "u64", "f32" and "f64" for one number; "u32x4", "f64x2" and
// the like for lanes; "v128" and the like for bits.
std::string value_type(ValueType type, std::uint32_t width_bytes);

struct WideType {
    ValueType type;  // canonical
    std::uint32_t width_bytes = 0;

    friend bool operator==(const WideType&, const WideType&) = default;
};
// The reverse; nothing if the name is none of a type of at most 64 bytes.
std::optional<WideType> value_type_of(std::string_view name);

// Returns a little-endian value as one hexadecimal number without leading zeros: "0x7".
std::string value_hex(std::span<const std::byte> value);
// The reverse, for a value `width_bytes` wide; nothing if the text is no such number.
std::optional<std::vector<std::byte>> value_from_hex(std::string_view text,
                                                     std::uint32_t width_bytes);

// Returns a value in readable form. Lanes of numbers are in decimal, the lowest first: "1 0.1".
// Integers are unsigned; floating-point numbers have the fewest digits that read back as the same
// number. Bits are in hexadecimal, 64 at a time: "0x3ff0000000000000 0x0".
std::string value_text(std::span<const std::byte> value, ValueType type);

}  // namespace shadowprof
