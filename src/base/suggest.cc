#include "base/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace shadowprof {
namespace {

// Levenshtein's distance, one row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
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

Error bad_option_value(std::string_view option, std::string_view typed,
                       std::span<const std::string_view> known) {
    const std::string_view near = nearest(typed, known);
    return {ErrorCode::usage, 0,
            fmt::format("{}={}: {}; it takes {}", option, typed,
                        near.empty() ? "not known" : fmt::format("did you mean '{}'?", near),
                        fmt::join(known, ", "))};
}

}  // namespace shadowprof
