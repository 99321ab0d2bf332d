#include "probe/probe_error.h"

#include <fmt/format.h>

#include <algorithm>

namespace shadowprof {
namespace {

// Characters of a line that are shown on either side of the wrong one.
constexpr std::size_t max_before = 60, max_behind = 40;

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Replaces control characters, which would move the caret.
std::string shown(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
    return out;
}

}  // namespace

std::string render(const ProbeError& error, std::string_view text) {
    const std::size_t at = std::min(error.offset, text.size());
    const std::size_t newline = text.substr(0, at).rfind('\n');
    std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    std::size_t end = std::min(text.find('\n', at), text.size());
    if (at - begin > max_before) begin = at - max_before;
    if (end - at > max_behind) end = at + max_behind;
    while (begin < at && continues_character(text[begin])) ++begin;
    while (end > at && end < text.size() && continues_character(text[end])) --end;
    const std::string before = shown(text.substr(begin, at - begin));
    const auto columns = before.size() - static_cast<std::size_t>(std::count_if(
                                             before.begin(), before.end(), continues_character));
    return fmt::format("{}\n  {}{}\n  {}^", error.message, before, shown(text.substr(at, end - at)),
                       std::string(columns, ' '));
}

}  // namespace shadowprof
