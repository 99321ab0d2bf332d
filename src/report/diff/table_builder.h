// Joins what two profiles have of the same thing to the entries of a table.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "report/diff/profile_diff.h"

namespace shadowprof {

// How a profile's counts become what is compared.
struct DiffScale {
    bool exact = false;
    bool as_counts = false;
    double runs = 1;                     // that counts are the sum of
    std::size_t degrees_of_freedom = 3;  // of the errors; of no meaning where counts are exact

    // A mean run's count, or the share of `total`.
    Measured measured(const Measured& count, double total) const;
};
using DiffScales = std::array<DiffScale, 2>;  // by DiffSide

// Scales for two profiles: counts if both are exact.
DiffScales scales_of(const Profile& base, const Profile& next);

// Builds a table of differences. What is the same in both profiles has equal keys.
template <typename Key>
class TableBuilder {
  public:
    // What is matched by nothing counts for the total alone. Without an error the count is exact,
    // or its error is not known.
    void add(const Key& key, MatchedBy by, DiffPlace place, double count,
             std::optional<double> error) {
        const auto side = static_cast<std::size_t>(place.side);
        totals_[side] += count;
        if (by == MatchedBy::nothing) {
            ++unmatched_[side];
            return;
        }
        Row& row = rows_[key];
        auto& sum = row.counts[side];
        // NEW's place is kept where there is one: it comes last.
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
        DiffPlace place;
        MatchedBy matched = MatchedBy::address;
    };

    // The error of a sum is at most the errors' sum: what happens together is not known.
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

// Says of each entry whether it changed, at 95% for all of them together, counts the judgements and
// ranks the entries. What a profile lacks is 0 there: exactly where it is exact, else as uncertain
// as the other's count, or of an unknown error beside an exact count.
void judge(DiffTable& table, const DiffScales& scales);

}  // namespace shadowprof
