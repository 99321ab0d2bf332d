#include "profile/kinds/values/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace shadowprof {
namespace {

using LaneKind = ValueType::Kind;

template <typename Number>
Number number_in(std::span<const std::byte> lane) {
    Number number{};
    std::memcpy(&number, lane.data(), std::min(lane.size(), sizeof number));
    return number;
}

std::string lane_text(std::span<const std::byte> lane, LaneKind kind) {
    if (kind == LaneKind::bits) return fmt::format("{:#x}", number_in<std::uint64_t>(lane));
    if (kind == LaneKind::integer) return std::to_string(number_in<std::uint64_t>(lane));
    return lane.size() == sizeof(float) ? fmt::to_string(number_in<float>(lane))
                                        : fmt::to_string(number_in<double>(lane));
}

// Removes a number without leading zeros from the beginning of `text` and returns it; 0 if there is
// none.
std::uint32_t take_number(std::string_view& text) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || text[0] == '0') return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::optional<LaneKind> kind_of(char letter) {
    switch (letter) {
        case 'u':
            return LaneKind::integer;
        case 'f':
            return LaneKind::floating;
        case 'v':
            return LaneKind::bits;
        default:
            return std::nullopt;
    }
}

std::optional<std::uint8_t> hex_digit(char c) {
    std::uint8_t digit = 0;
    auto [end, error] = std::from_chars(&c, &c + 1, digit, 16);
    return error == std::errc{} ? std::optional{digit} : std::nullopt;
}

}  // namespace

std::string value_type(ValueType type, std::uint32_t width_bytes) {
    const auto [kind, lane_bytes] = canonical(type, width_bytes);
    if (kind == LaneKind::bits) return fmt::format("v{}", 8 * width_bytes);
    const auto lanes = width_bytes / lane_bytes;
    return fmt::format("{}{}{}", kind == LaneKind::integer ? 'u' : 'f', 8 * lane_bytes,
                       lanes == 1 ? "" : fmt::format("x{}", lanes));
}

std::optional<WideType> value_type_of(std::string_view name) {
    const auto kind = name.empty() ? std::nullopt : kind_of(name.front());
    if (!kind) return std::nullopt;
    auto rest = name.substr(1);
    const auto lane_bytes = take_number(rest) / 8;
    std::uint32_t lanes = 1;
    if (rest.starts_with('x')) {
        rest.remove_prefix(1);
        lanes = take_number(rest);
    }
    if (lane_bytes == 0 || lane_bytes > widest_value_bytes || lanes == 0 ||
        lanes > widest_value_bytes / lane_bytes)
        return std::nullopt;
    const auto width_bytes = lanes * lane_bytes;
    const auto type = canonical({*kind, static_cast<std::uint8_t>(lane_bytes)}, width_bytes);
    if (value_type(type, width_bytes) != name) return std::nullopt;
    return WideType{type, width_bytes};
}

std::string value_hex(std::span<const std::byte> value) {
    std::string text;
    for (std::size_t i = value.size(); i-- > 0;)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(value[i]));
    std::size_t first = std::min(text.find_first_not_of('0'), text.empty() ? 0 : text.size() - 1);
    return "0x" + (text.empty() ? "0" : text.substr(first));
}

std::optional<std::vector<std::byte>> value_from_hex(std::string_view text,
                                                     std::uint32_t width_bytes) {
    if (!text.starts_with("0x") || text.size() == 2 || text.size() - 2 > 2 * width_bytes)
        return std::nullopt;
    std::vector<std::byte> value(width_bytes);
    std::size_t nibble = 0;
    for (std::size_t i = text.size(); i-- > 2; ++nibble) {
        auto digit = hex_digit(text[i]);
        if (!digit) return std::nullopt;
        value[nibble / 2] |= std::byte(*digit << (nibble % 2 * 4));
    }
    return value;
}

std::string value_text(std::span<const std::byte> value, ValueType type) {
    const auto [kind, lane_bytes] = canonical(type, static_cast<std::uint32_t>(value.size()));
    const std::size_t step = kind == LaneKind::bits ? sizeof(std::uint64_t) : lane_bytes;
    std::string text;
    for (std::size_t at = 0; at < value.size(); at += step) {
        if (at != 0) text += ' ';
        text += lane_text(value.subspan(at, std::min(step, value.size() - at)), kind);
    }
    return text;
}

}  // namespace shadowprof
