// Joins the entries of two profiles to a table.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "report/diff/profile_diff.h"

namespace shadowprof {

// Converts a profile's counts to comparable quantities.
struct DiffScale {
    bool exact = false;
    bool as_counts = false;
    double runs = 1;                     // number of runs that were added up
    std::size_t degrees_of_freedom = 3;  // for the errors; meaningless if counts are exact

    // Returns a mean run's count, or the share of `total`.
    Measured measured(const Measured& count, double total) const;
};
using DiffScales = std::array<DiffScale, 2>;  // by DiffSide

// Returns scales for two profiles: counts if both are exact.
DiffScales scales_of(const Profile& base, const Profile& next);

// Builds a table of differences. Entries that match have equal keys.
template <typename Key>
class TableBuilder {
  public:
    // Adds a count. An entry that is matched by nothing counts only for the total. Without an error
    // the count is exact or its error is unknown.
    void add(const Key& key, MatchedBy by, DiffLocation place, double count,
             std::optional<double> error) {
        const auto side = static_cast<std::size_t>(place.side);
        totals_[side] += count;
        if (by == MatchedBy::nothing) {
            ++unmatched_[side];
            return;
        }
        Row& row = rows_[key];
        auto& sum = row.counts[side];
        // NEW is added last, so its place is kept if there is one.
        if (!sum) row.place = std::move(place);
        if (!sum) sum = Measured{};
        add_to(*sum, count, error);
        row.matched = std::max(row.matched, by);
    }

    DiffTable take(DiffKind kind, DiffUnit unit, const DiffScales& scales) const {
        DiffTable table{.kind = kind, .unit = unit, .totals = totals_, .unmatched = unmatched_};
        for (const auto& [key, row] : rows_) {
            DiffEntry entry{.place = row.place, .matched = row.matched};
            if (row.counts[0]) entry.base = scales[0].measured(*row.counts[0], totals_[0]);
            if (row.counts[1]) entry.next = scales[1].measured(*row.counts[1], totals_[1]);
            table.entries.push_back(std::move(entry));
        }
        return table;
    }

  private:
    struct Row {
        std::array<std::optional<Measured>, 2> counts;
        DiffLocation place;
        MatchedBy matched = MatchedBy::address;
    };

    // The error of a sum is at most the sum of the errors; correlations are unknown.
    static void add_to(Measured& sum, double count, std::optional<double> error) {
        sum.value += count;
        if (sum.error && error)
            *sum.error += *error;
        else
            sum.error.reset();
    }

    std::map<Key, Row> rows_;
    std::array<double, 2> totals_{};
    std::array<std::size_t, 2> unmatched_{};
};

// Judges whether each entry changed, at 95% for all of them together, counts the judgements and
// ranks the entries. An entry that one profile lacks is 0 there. That 0 is exact in an exact
// profile. In a sampled one its error is that of the other count, or unknown if the other count is
// exact.
void judge(DiffTable& table, const DiffScales& scales);

}  // namespace shadowprof
