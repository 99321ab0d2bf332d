// How recorded bits are to be read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace shadowprof {

// How the bits of a value are to be read: as lanes of one type, the lowest lane first.
struct ValueType {
    enum class Kind : std::uint8_t { integer, floating, bits };

    Kind kind = Kind::integer;
    std::uint8_t lane_bytes = 8;  // for `bits`: width of the whole value

    friend bool operator==(const ValueType&, const ValueType&) = default;
};

// Returns one representative of all types that mean the same for values of `width_bytes`, at most
// 64. An integer lane is not wider than the value, and a floating one has 4 or 8 bytes. A type that
// does not fit the width becomes an integer if a general register has that width, or else bits.
// Accepts any `type`.
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

// Returns the more specific of two types of one instruction's values. Any other kind is more
// specific than bits, and floating more than integer. The choice makes merged profiles independent
// of the order of merging.
constexpr ValueType more_specific(ValueType a, ValueType b) {
    constexpr auto rank = [](ValueType type) {
        const int kind = type.kind == ValueType::Kind::bits      ? 0
                         : type.kind == ValueType::Kind::integer ? 1
                                                                 : 2;
        return 256 * kind - type.lane_bytes;  // narrower lanes are less likely the default
    };
    return rank(a) >= rank(b) ? a : b;
}

// Returns the low `bytes` bytes of a value, zero-extended; all of it if `bytes` is 8 or more.
constexpr std::uint64_t low_bytes(std::uint64_t value, unsigned bytes) {
    return bytes >= 8 ? value : value & ((std::uint64_t{1} << 8 * bytes) - 1);
}

}  // namespace shadowprof
