#include "profile/kinds/probes/probe_numbers.h"

#include <fmt/format.h>

#include "base/text/hex_text.h"

namespace shadowprof {
namespace {

__extension__ using SumBits = unsigned __int128;

}  // namespace

std::string probe_number(std::uint64_t number, bool is_signed) {
    return is_signed ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number);
}

std::string sum_hex(ProbeSum sum) {
    const auto bits = static_cast<SumBits>(sum);
    return sum < 0 ? fmt::format("-{:#x}", 0 - bits) : fmt::format("{:#x}", bits);
}

std::optional<ProbeSum> parse_sum_hex(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    // The halves are parsed separately. With 31 digits the sign bit is not reached.
    constexpr std::size_t max_digits = 31, low_digits = 16;
    if (!text.starts_with("0x") || text.size() > 2 + max_digits) return std::nullopt;
    const std::string digits(text.substr(2));
    const auto split = digits.size() > low_digits ? digits.size() - low_digits : 0;
    const auto low = parse_hex("0x" + digits.substr(split));
    const auto high =
        split == 0 ? std::optional<std::uint64_t>(0) : parse_hex("0x" + digits.substr(0, split));
    if (!low || !high) return std::nullopt;
    const auto bits = SumBits{*high} << 64 | *low;
    return static_cast<ProbeSum>(negative ? 0 - bits : bits);
}

}  // namespace shadowprof
