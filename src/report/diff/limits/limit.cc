#include "report/diff/limits/limit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "probe/glob.h"
#include "probe/probe_error.h"
#include "report/diff/diff_totals.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

struct Quantity {
    std::string_view word;  // includes the separator if a name follows
    LimitOf of;
};
constexpr std::array quantities{Quantity{"instructions", LimitOf::instructions},
                                Quantity{"edges", LimitOf::edges},
                                Quantity{"calls", LimitOf::calls},
                                Quantity{"function:", LimitOf::function},
                                Quantity{"entries:", LimitOf::entries},
                                Quantity{"latency.", LimitOf::latency},
                                Quantity{"alloc.", LimitOf::alloc},
                                Quantity{"cache.", LimitOf::cache},
                                Quantity{"branch.", LimitOf::branch},
                                Quantity{"syscalls.", LimitOf::syscalls}};

struct Multiplier {
    std::string_view suffix;
    LimitUnit unit;
    double factor;
};
constexpr std::array multipliers{
    Multiplier{"%", LimitUnit::percent, 0.01}, Multiplier{"pp", LimitUnit::points, 0.01},
    Multiplier{"", LimitUnit::count, 1},       Multiplier{"k", LimitUnit::count, 1e3},
    Multiplier{"M", LimitUnit::count, 1e6},    Multiplier{"G", LimitUnit::count, 1e9}};

bool takes_name(const Quantity& quantity) {
    return quantity.word.ends_with(':') || quantity.word.ends_with('.');
}

// Returns the place of the comparison: the last one, as function names may hold any character.
std::size_t find_comparison(std::string_view text) {
    const auto more = text.rfind(">+"), less = text.rfind("<-");
    if (more == std::string_view::npos) return less;
    return less == std::string_view::npos ? more : std::max(more, less);
}

ProbeError no_comparison(std::string_view text) {
    constexpr std::string_view wanted =
        "a limit is QUANTITY>+CHANGE or QUANTITY<-CHANGE, as 'instructions>+2%'";
    const auto at = text.find_last_of("<>");
    if (at == std::string_view::npos) return {text.size(), std::string(wanted)};
    return {at + 1, fmt::format("the change needs its sign: '{}'", text[at] == '>' ? ">+" : "<-")};
}

// The names of what a quantity like `cache.` or `syscalls.` counts.
std::vector<std::string> names_behind(const Limit& limit, std::string_view word) {
    std::vector<std::string> names;
    if (limit.of == LimitOf::syscalls)
        for (const SyscallFacts& call : syscall_facts()) {
            names.emplace_back(call.name);
            names.push_back(fmt::format("{}.{}", call.name, failed_calls.word));
            if (call.result == SyscallResult::bytes)
                names.push_back(fmt::format("{}.{}", call.name, bytes_of_calls.word));
        }
    for (const CountedTotal& total : counted_totals)
        if (total.name.starts_with(word)) names.emplace_back(total.name.substr(word.size()));
    return names;
}

std::optional<ProbeError> unknown_name(const Limit& limit, std::string_view word) {
    const auto names = names_behind(limit, word);
    if (std::ranges::count(names, limit.pattern) != 0) return std::nullopt;
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view near = nearest(limit.pattern, views);
    const bool is_call =
        limit.of == LimitOf::syscalls && limit.pattern.find('.') == std::string::npos;
    return ProbeError{word.size(),
                      fmt::format("there is no such {}{}", is_call ? "system call" : "count",
                                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near))};
}

std::optional<ProbeError> read_quantity(std::string_view text, Limit& limit) {
    const auto separator = std::min(text.find_first_of(":."), text.size());
    const std::string_view word = text.substr(0, std::min(separator + 1, text.size()));
    const auto* known = std::find_if(quantities.begin(), quantities.end(),
                                     [&](const Quantity& q) { return q.word == word; });
    if (known == quantities.end()) {
        std::array<std::string_view, quantities.size()> words;
        std::transform(quantities.begin(), quantities.end(), words.begin(),
                       [](const Quantity& q) { return q.word; });
        const std::string_view near = nearest(word, words);
        if (!near.empty())
            return ProbeError{
                0, fmt::format("unknown quantity '{}'; did you mean '{}'?", printable(word), near)};
        return ProbeError{0,
                          "unknown quantity; there are instructions, edges, calls, "
                          "function:GLOB, entries:GLOB, latency.LEVEL, cache.COUNT, branch.COUNT "
                          "and syscalls.NAME"};
    }
    limit.of = known->of;
    limit.pattern = text.substr(word.size());
    if (!limit.of_entries()) limit.total = text;
    if (!takes_name(*known)) return std::nullopt;
    if (limit.pattern.empty()) return ProbeError{word.size(), "a name is missing here"};
    if (limit.of == LimitOf::latency) return std::nullopt;
    if (!limit.of_functions()) return unknown_name(limit, word);
    if (const auto at = glob_error(limit.pattern))
        return ProbeError{word.size() + *at, "this bracket or backslash has no end"};
    return std::nullopt;
}

// Parses the change, which begins at `begin` in `text`.
std::optional<ProbeError> read_change(std::string_view text, std::size_t begin, Limit& limit) {
    const std::string_view number = text.substr(begin);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(),
                                              limit.amount, std::chars_format::fixed);
    if (error != std::errc{} || number.starts_with('-') || !std::isfinite(limit.amount))
        return ProbeError{begin, "a number is missing here"};
    const auto length = static_cast<std::size_t>(end - number.data());
    const auto* found =
        std::find_if(multipliers.begin(), multipliers.end(),
                     [&](const Multiplier& m) { return m.suffix == number.substr(length); });
    if (found == multipliers.end())
        return ProbeError{begin + length, "behind the number there is %, pp, k, M, G or nothing"};
    limit.unit = found->unit;
    limit.amount *= found->factor;
    const bool of_shares = limit.of == LimitOf::latency, of_counts = !limit.of_entries();
    if (of_shares && limit.unit == LimitUnit::count)
        return ProbeError{begin + length,
                          "a share of loads changes by % of itself or by pp, "
                          "percentage points"};
    if (of_counts && limit.unit == LimitUnit::points)
        return ProbeError{begin + length, "this is no share: it changes by % or by a number"};
    return std::nullopt;
}

std::optional<ProbeError> read_limit(std::string_view text, Limit& limit) {
    const auto comparison = find_comparison(text);
    if (comparison == std::string_view::npos) return no_comparison(text);
    if (auto error = read_quantity(text.substr(0, comparison), limit)) return error;
    limit.falls = text[comparison] == '<';
    return read_change(text, comparison + 2, limit);
}

}  // namespace

Result<Limit> parse_limit(std::string_view text) {
    Limit limit;
    limit.text = text;
    if (const auto error = read_limit(text, limit))
        return Error{ErrorCode::usage, 0, render(*error, text)};
    return limit;
}

}  // namespace shadowprof
