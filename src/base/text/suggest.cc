#include "base/text/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace shadowprof {
namespace {

// Levenshtein's distance with swaps of neighbours. Keeps three rows of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = above[j] + (a[i] == b[j] ? 0 : 1);
            row[j + 1] = std::min({replaced, above[j + 1] + 1, row[j] + 1});
            const bool swapped = i != 0 && j != 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
        }
        before = std::exchange(above, row);
    }
    return above.back();
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> known) {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
    for (const std::string_view candidate : known) {
        const std::size_t distance = edit_distance(typed, candidate);
        if (distance >= best_distance) continue;
        best = candidate;
        best_distance = distance;
    }
    return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known) {
    const std::string_view near = nearest(typed, known);
    return near.empty() ? std::string() : fmt::format("did you mean '{}'? ", near);
}

Error bad_option_value(std::string_view option, std::string_view typed,
                       std::span<const std::string_view> known) {
    const std::string_view near = nearest(typed, known);
    return {ErrorCode::usage, 0,
            fmt::format("{}={}: {}; it takes {}", option, typed,
                        near.empty() ? "not known" : fmt::format("did you mean '{}'?", near),
                        fmt::join(known, ", "))};
}

}  // namespace shadowprof
