// What the operators of probes compute: in 64 bits, as in C, but defined for all operands.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "probe/probe_syntax.h"

namespace shadowprof {

// Sign-extends the low `bytes` (1, 2, 4 or 8) of a value.
constexpr std::uint64_t sign_extended(std::uint64_t value, unsigned bytes) {
    const unsigned unused = 64 - 8 * bytes;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
}

constexpr std::uint64_t apply_unary(ProbeOp op, std::uint64_t a) {
    switch (op) {
        case ProbeOp::negate:
            return 0 - a;
        case ProbeOp::complement:
            return ~a;
        default:
            return a == 0;
    }
}

// Returns nothing for a division by zero. The least number divided by -1 is itself.
constexpr std::optional<std::uint64_t> divide(ProbeOp op, std::uint64_t a, std::uint64_t b,
                                              bool is_signed) {
    if (b == 0) return std::nullopt;
    const bool quotient = op == ProbeOp::divide;
    if (!is_signed) return quotient ? a / b : a % b;
    if (b == ~std::uint64_t{0}) return quotient ? 0 - a : 0;
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    return static_cast<std::uint64_t>(quotient ? x / y : x % y);
}

// A shift by 64 or more fills the result with the bits that come in.
constexpr std::uint64_t shift(ProbeOp op, std::uint64_t a, std::uint64_t by, bool is_signed) {
    if (op == ProbeOp::shift_left) return by < 64 ? a << by : 0;
    if (!is_signed) return by < 64 ? a >> by : 0;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> (by < 64 ? by : 63));
}

constexpr bool is_less(std::uint64_t a, std::uint64_t b, bool is_signed) {
    return is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

// `is_signed` tells whether one of the operands is signed, or the left one for a shift. Needs an
// operator that takes two numbers and is not logical.
constexpr std::optional<std::uint64_t> apply_binary(ProbeOp op, std::uint64_t a, std::uint64_t b,
                                                    bool is_signed) {
    switch (op) {
        case ProbeOp::equal:
            return a == b;
        case ProbeOp::not_equal:
            return a != b;
        case ProbeOp::less:
            return is_less(a, b, is_signed);
        case ProbeOp::less_equal:
            return !is_less(b, a, is_signed);
        case ProbeOp::greater:
            return is_less(b, a, is_signed);
        case ProbeOp::greater_equal:
            return !is_less(a, b, is_signed);
        case ProbeOp::bit_or:
            return a | b;
        case ProbeOp::bit_xor:
            return a ^ b;
        case ProbeOp::bit_and:
            return a & b;
        case ProbeOp::shift_left:
        case ProbeOp::shift_right:
            return shift(op, a, b, is_signed);
        case ProbeOp::add:
            return a + b;
        case ProbeOp::subtract:
            return a - b;
        case ProbeOp::multiply:
            return a * b;
        default:
            return divide(op, a, b, is_signed);
    }
}

}  // namespace shadowprof
