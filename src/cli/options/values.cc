#include "cli/options/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "base/text/suggest.h"

namespace shadowprof {
namespace {

struct UnitRow {
    std::string_view suffix;
    double factor;
};
constexpr UnitRow duration_units[] = {{"", 1e9}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
constexpr UnitRow count_units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
constexpr double max_duration_ns = 1000.0 * 86400 * 1e9;
constexpr double max_count = 1e15;

Error not_accepted(std::string accepted) {
    return {ErrorCode::usage, 0, "must be " + std::move(accepted)};
}

// Parses digits with at most one point: no sign, no exponent, no "inf".
std::optional<double> decimal(std::string_view text) {
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [](char c) { return c == '.' || ('0' <= c && c <= '9'); });
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] =
        std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (!plain || failure != std::errc{} || stop != end) return std::nullopt;
    return number;
}

std::optional<double> scaled(std::string_view text, std::span<const UnitRow> units) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view suffix = text.substr(digits);
    for (const UnitRow& unit : units) {
        if (unit.suffix != suffix) continue;
        const std::optional<double> number = decimal(text.substr(0, digits));
        return number ? std::optional(*number * unit.factor) : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    const std::optional<double> ns = scaled(text, duration_units);
    if (!ns || *ns > max_duration_ns)
        return not_accepted("a number of seconds, or a number with us, ms, s or m: 5, 500ms, 2m");
    return std::chrono::nanoseconds(std::llround(*ns));
}

Result<DurationPair> parse_duration_pair(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return not_accepted("two durations with a slash between them: 2ms/1s");
    TRY_ASSIGN(const auto first, parse_duration(text.substr(0, slash)));
    TRY_ASSIGN(const auto second, parse_duration(text.substr(slash + 1)));
    return DurationPair{first, second};
}

Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least) {
    const std::optional<double> count = scaled(text, count_units);
    // The product of a decimal fraction such as 1.1M differs from the whole number by a smaller
    // share.
    constexpr double rounding = 1e-12;
    const double whole = count ? std::round(*count) : -1;
    if (!count || std::abs(*count - whole) > whole * rounding ||
        whole < static_cast<double>(least) || whole > max_count)
        return not_accepted(fmt::format(
            "a whole number of at least {}, also with k, M or G: 10k, 1.5M, 2G", least));
    return static_cast<std::uint64_t>(whole);
}

Result<std::uint64_t> parse_u64(std::string_view text) {
    const bool hex = text.starts_with("0x");
    const std::string_view digits = hex ? text.substr(2) : text;
    std::uint64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number, hex ? 16 : 10);
    if (failure != std::errc{} || stop != end)
        return not_accepted("a whole number below 2^64: 42, 0x2a");
    return number;
}

Result<CountRange> parse_range(std::string_view text, std::uint64_t least, std::uint64_t most) {
    const auto dots = text.find("..");
    if (dots != std::string_view::npos) {
        const auto first = parse_u64(text.substr(0, dots)), last = parse_u64(text.substr(dots + 2));
        if (first && last && least <= *first && *first <= *last && *last <= most)
            return CountRange{*first, *last};
    }
    return not_accepted(fmt::format("two whole numbers from {} to {}, the larger one last: {}..{}",
                                    least, most, least, most));
}

Result<double> parse_number(std::string_view text, double least, double most) {
    const std::optional<double> number = decimal(text);
    if (!number || *number < least || *number > most)
        return not_accepted(fmt::format("a number from {} to {}", least, most));
    return *number;
}

Result<double> parse_load(std::string_view text) {
    return parse_number(text, min_load, max_load);
}

Result<double> parse_percent(std::string_view text) {
    const std::string_view digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
    const std::optional<double> number = decimal(digits);
    if (!number || *number <= 0 || *number > 100)
        return not_accepted("a percentage above 0, at most 100: 1%, 0.5");
    return *number;
}

Result<std::size_t> parse_choice(std::string_view text, std::span<const std::string_view> choices) {
    const auto found = std::ranges::find(choices, text);
    if (found == choices.end())
        return Error{ErrorCode::usage, 0,
                     did_you_mean(text, choices) +
                         fmt::format("must be one of {}", fmt::join(choices, ", "))};
    return static_cast<std::size_t>(found - choices.begin());
}

Result<std::vector<std::string_view>> split_list(std::string_view text) {
    std::vector<std::string_view> members;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t comma = std::min(text.find(',', start), text.size());
        if (comma == start) return not_accepted("a comma-separated list without empty members");
        members.push_back(text.substr(start, comma - start));
        start = comma + 1;
    }
    return members;
}

}  // namespace shadowprof
