#include "base/text/text_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shadowprof {
namespace {

struct CountUnit {
    double size;
    std::string_view name;
};

// At most three significant digits.
std::string three_digits(double number) {
    if (number >= 99.95) return fmt::format("{:.0f}", number);
    if (number >= 9.995) return fmt::format("{:.1f}", number);
    return fmt::format("{:.2f}", number);
}

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::string short_count(double count) {
    constexpr std::array<CountUnit, 5> units{
        {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
    if (count < 10'000) return fmt::format("{:.0f}", count);
    // Compares the rounded number: 999,950 is 1.00 M, not 1000 k.
    auto unit = std::find_if(units.begin(), units.end(),
                             [&](const CountUnit& u) { return count >= u.size * 0.9995; });
    return fmt::format("{} {}", three_digits(count / unit->size), unit->name);
}

std::string percent(double share) {
    if (!std::isfinite(share) || share <= 0) return "0%";
    if (share < 0.0005) return "<0.1%";
    return fmt::format("{:.1f}%", 100 * share);
}

std::string whole_percent(double share) {
    if (!std::isfinite(share) || share <= 0) return "0%";
    if (share < 0.005) return "<1%";
    return fmt::format("{:.0f}%", 100 * share);
}

std::string short_duration(double seconds) {
    if (!(seconds > 0)) return "0";
    if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", std::max(1.0, seconds * 1e6));
    if (seconds < 0.9995) return fmt::format("{} ms", three_digits(seconds * 1e3));
    if (seconds < 600) return fmt::format("{} s", three_digits(seconds));
    double minutes = seconds / 60;
    if (minutes < 600) return fmt::format("{:.0f} min", minutes);
    return fmt::format("{:.0f} h", minutes / 60);
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool is_c1_control =
            c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (is_c1_control) ++i;
        out += c < 0x20 || c == 0x7f || is_c1_control ? '?' : text[i];
    }
    return out;
}

std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string_view cut_columns(std::string_view text, std::size_t width) {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if (!continues_character(text[at]) && width-- == 0) break;
    return text.substr(0, at);
}

std::string fit(std::string_view text, std::size_t width) {
    std::size_t length = columns(text);
    if (length <= width) return std::string(text);
    constexpr std::string_view gap = "..";
    if (width <= gap.size()) return std::string(cut_columns(text, width));
    std::size_t tail = (width - gap.size()) / 3;
    std::size_t head = width - gap.size() - tail;
    std::string out(cut_columns(text, head));
    out += gap;
    out += text.substr(cut_columns(text, length - tail).size());
    return out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string word = fit(text.substr(0, end), width);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (lines.empty() || columns(lines.back()) + 1 + columns(word) > width)
            lines.push_back(word);
        else
            lines.back() += " " + word;
    }
    return lines;
}

std::string pad(std::string_view text, std::size_t width) {
    std::size_t length = columns(text);
    return std::string(text) + std::string(width > length ? width - length : 0, ' ');
}

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace shadowprof
