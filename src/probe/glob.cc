#include "probe/glob.h"

namespace shadowprof {
namespace {

// Returns the end of the bracket expression that begins at `at`, or nothing if it is not closed. A
// closing bracket that stands first in it is one of its characters.
std::optional<std::size_t> bracket_end(std::string_view pattern, std::size_t at) {
    std::size_t first = at + 1;
    if (first < pattern.size() && pattern[first] == '!') ++first;
    const auto close = pattern.find(']', first + 1);
    if (close == std::string_view::npos) return std::nullopt;
    return close + 1;
}

bool in_bracket(std::string_view set, char c) {
    const bool inverted = set.starts_with('!');
    if (inverted) set.remove_prefix(1);
    const auto code = [](char x) { return static_cast<unsigned char>(x); };
    bool found = false;
    for (std::size_t i = 0; i < set.size(); ++i) {
        const bool range = i + 2 < set.size() && set[i + 1] == '-';
        const char last = range ? set[i + 2] : set[i];
        found = found || (code(set[i]) <= code(c) && code(c) <= code(last));
        if (range) i += 2;
    }
    return found != inverted;
}

// Returns the end of the pattern's element at `at` if it matches `c`. Not for a star.
std::optional<std::size_t> match_one(std::string_view pattern, std::size_t at, char c) {
    if (at == pattern.size()) return std::nullopt;
    std::size_t end = at + 1;
    bool matches = pattern[at] == c;
    if (pattern[at] == '?') {
        matches = true;
    } else if (pattern[at] == '[') {
        end = bracket_end(pattern, at).value_or(pattern.size());
        matches = in_bracket(pattern.substr(at + 1, end - at - 2), c);
    } else if (pattern[at] == '\\' && end < pattern.size()) {
        matches = pattern[end] == c;
        ++end;
    }
    return matches ? std::optional(end) : std::nullopt;
}

}  // namespace

// Only the last star reached ever needs to take more: what earlier stars took was enough.
bool glob_matches(std::string_view pattern, std::string_view text) {
    constexpr auto none = std::string_view::npos;
    std::size_t at = 0, behind_star = none, taken = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (at < pattern.size() && pattern[at] == '*') {
            behind_star = ++at;
            taken = i;
        } else if (const auto next = match_one(pattern, at, text[i])) {
            at = *next;
            ++i;
        } else if (behind_star != none) {
            at = behind_star;
            i = ++taken;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == none;
}

std::optional<std::size_t> glob_error(std::string_view pattern) {
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] == '\\' && at + 1 == pattern.size()) return at;
        if (pattern[at] == '[') {
            const auto end = bracket_end(pattern, at);
            if (!end) return at;
            at = *end;
        } else {
            at += pattern[at] == '\\' ? 2 : 1;
        }
    }
    return std::nullopt;
}

Result<void> check_glob(std::string_view pattern) {
    const auto at = glob_error(pattern);
    if (!at) return {};
    return Error{ErrorCode::usage, 0,
                 pattern[*at] == '['
                     ? fmt::format("the bracket at character {} is not closed; write \\[ for a "
                                   "bracket itself",
                                   *at + 1)
                     : "nothing follows the backslash at the end; write \\\\ for a backslash "
                       "itself"};
}

}  // namespace shadowprof
