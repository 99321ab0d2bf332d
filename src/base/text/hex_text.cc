#include "base/text/hex_text.h"

#include <fmt/format.h>

#include <charconv>

namespace shadowprof {

std::string hex_text(std::uint64_t number) {
    return fmt::format("{:#x}", number);
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    if (!text.starts_with("0x")) return std::nullopt;
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    auto [last, error] = std::from_chars(text.data() + 2, end, value, 16);
    if (error != std::errc{} || last != end) return std::nullopt;
    return value;
}

}  // namespace shadowprof
