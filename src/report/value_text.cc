#include "report/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace shadowprof {
namespace {

constexpr std::size_t lane_bytes = sizeof(std::uint64_t);

bool is_integer_width(std::size_t bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

std::uint64_t lane(std::span<const std::byte> value, std::size_t index) {
    std::uint64_t number = 0;
    auto bytes = value.subspan(index * lane_bytes);
    std::memcpy(&number, bytes.data(), std::min(bytes.size(), lane_bytes));
    return number;
}

std::optional<std::uint8_t> hex_digit(char c) {
    std::uint8_t digit = 0;
    auto [end, error] = std::from_chars(&c, &c + 1, digit, 16);
    return error == std::errc{} ? std::optional{digit} : std::nullopt;
}

}  // namespace

std::string value_type(std::uint32_t width_bytes) {
    return fmt::format("{}{}", is_integer_width(width_bytes) ? 'u' : 'v', width_bytes * 8);
}

std::optional<std::uint32_t> value_type_bytes(std::string_view type) {
    if (type.empty()) return std::nullopt;
    std::uint32_t bits = 0;
    auto [end, error] = std::from_chars(type.data() + 1, type.data() + type.size(), bits);
    bool whole = error == std::errc{} && end == type.data() + type.size() && bits % 8 == 0;
    if (!whole || bits == 0 || bits / 8 > widest_value_bytes || type != value_type(bits / 8))
        return std::nullopt;
    return bits / 8;
}

std::string value_hex(std::span<const std::byte> value) {
    std::string text;
    for (std::size_t i = value.size(); i-- > 0;)
        fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(value[i]));
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

std::string value_text(std::span<const std::byte> value) {
    if (is_integer_width(value.size())) return std::to_string(lane(value, 0));
    std::string text;
    for (std::size_t i = 0; i * lane_bytes < value.size(); ++i)
        fmt::format_to(std::back_inserter(text), "{}{:#x}", i == 0 ? "" : " ", lane(value, i));
    return text;
}

}  // namespace shadowprof
