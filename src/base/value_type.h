// How recorded bits are to be read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace shadowprof {

// How the bits of a value are to be read: as lanes of one type, the lowest first.
struct ValueType {
    enum class Kind : std::uint8_t { integer, floating, bits };

    Kind kind = Kind::integer;
    std::uint8_t lane_bytes = 8;  // of `bits`: the whole value

    friend bool operator==(const ValueType&, const ValueType&) = default;
};

// The same for whatever says the same of values of `width_bytes`, at most 64: an integer lane is
// not wider than the value, a floating one has 4 or 8 bytes, and what does not fit the width is an
// integer where a general register has that width, else bits. Any `type` will do.
constexpr ValueType canonical(ValueType type, std::uint32_t width_bytes) {
    const auto width = static_cast<std::uint8_t>(width_bytes);
    const bool floating =
        type.kind == ValueType::Kind::floating && (type.lane_bytes == 4 || type.lane_bytes == 8);
    if (floating && width % type.lane_bytes == 0 && std::has_single_bit(width_bytes)) return type;
    const auto lane = std::min(type.lane_bytes, width);
    const bool integer = type.kind == ValueType::Kind::integer && lane <= 8 &&
                         std::has_single_bit(lane) && std::has_single_bit(width_bytes);
    if (integer) return {ValueType::Kind::integer, lane};
    const bool general = width <= 8 && std::has_single_bit(width_bytes);
    return {general ? ValueType::Kind::integer : ValueType::Kind::bits, width};
}

// Returns the one that says more of two types of one instruction's values. Any other kind says more
// than bits, and floating says more than integer. This is why profiles merge to the same in any
// order.
constexpr ValueType more_specific(ValueType a, ValueType b) {
    constexpr auto rank = [](ValueType type) {
        const int kind = type.kind == ValueType::Kind::bits      ? 0
                         : type.kind == ValueType::Kind::integer ? 1
                                                                 : 2;
        return 256 * kind - type.lane_bytes;  // narrower lanes are less likely the default
    };
    return rank(a) >= rank(b) ? a : b;
}

// A value's low bytes, zero-extended; all of it from 8 on.
constexpr std::uint64_t low_bytes(std::uint64_t value, unsigned bytes) {
    return bytes >= 8 ? value : value & ((std::uint64_t{1} << 8 * bytes) - 1);
}

}  // namespace shadowprof
