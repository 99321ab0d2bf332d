#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "profile/kinds/values/run_values.h"
#include "profile/kinds/values/value_text.h"
#include "report/diff/diff_tables.h"

namespace shadowprof {
namespace {

// If no value is frequent, chance decides which one is the most frequent.
constexpr double min_shown_invariance = 0.2;

using Key = std::tuple<MatchKey, std::string, std::uint32_t>;  // place, operand, width in bytes

struct ValueSite {
    std::array<const ValueProfile*, 2> values{};  // the hottest profile with this key
    DiffLocation place;
    MatchedBy matched = MatchedBy::address;
};

// Whether the most frequent value belongs to one run.
bool is_of_the_run(const ValueProfile& profile) {
    return is_of_the_run(profile.top.front().value, profile.type);
}

Measured share_of(const ValueProfile& profile, const std::vector<std::byte>& value, bool exact) {
    const auto executions = static_cast<double>(profile.count);
    for (const TopValue& top : profile.top)
        if (top.value == value)
            return {static_cast<double>(top.count) / executions,
                    exact ? std::optional(top.error / executions) : std::nullopt};
    const std::optional<double> absent =
        profile.absent_error ? *profile.absent_error / executions : 0.0;
    return {0, exact ? absent : std::nullopt};
}

std::string top_text(const ValueProfile& values) {
    return value_text(values.top.front().value, values.type);
}

std::map<Key, ValueSite> value_sites(const DiffInput& input,
                                     std::array<std::size_t, 2>& unmatched) {
    std::map<Key, ValueSite> sites;
    for (const DiffSide side : both_sides)
        for (const ValueProfile& values : input.profile(side).values) {
            if (values.count == 0 || values.top.empty()) continue;
            const auto i = static_cast<std::size_t>(side);
            const MatchKey place = input.matcher.place(side, values.at);
            if (place.by == MatchedBy::nothing) {
                ++unmatched[i];
                continue;
            }
            ValueSite& site = sites[{place, values.operand, values.width_bytes}];
            // Of several instructions of one line, the most executed one is taken.
            if (site.values[i] != nullptr && site.values[i]->count >= values.count) continue;
            site.values[i] = &values;
            site.place = {side, {values.at}, {}};
            site.matched = place.by;
        }
    return sites;
}

DiffEntry compared(const ValueSite& site, const DiffInput& input,
                   const std::array<double, 2>& totals) {
    const ValueProfile &base = *site.values[0], &next = *site.values[1];
    const auto& value = base.top.front().value;
    const bool own = is_of_the_run(base) || is_of_the_run(next);
    DiffEntry entry{.place = site.place, .matched = site.matched};
    entry.base = share_of(base, value, input.scales[0].exact);
    entry.next = share_of(next, own ? next.top.front().value : value, input.scales[1].exact);
    entry.importance = static_cast<double>(base.count) / totals[0] / 2 +
                       static_cast<double>(next.count) / totals[1] / 2;
    const std::string before = top_text(base), after = top_text(next);
    entry.place.detail = own ? fmt::format("{} = an address or the like", base.operand)
                         : before == after
                             ? fmt::format("{} = {}", base.operand, before)
                             : fmt::format("{} = {}; now mostly {}", base.operand, before, after);
    return entry;
}

}  // namespace

DiffTable diff_values(const DiffInput& input) {
    DiffTable table{.kind = DiffKind::values, .unit = DiffUnit::share};
    for (const DiffSide side : both_sides) {
        const auto& list = input.profile(side).values;
        for (const ValueProfile& values : list)
            table.totals[static_cast<std::size_t>(side)] += static_cast<double>(values.count);
        if (list.empty()) {
            table.missing = side == DiffSide::base ? "BASE has no values" : "NEW has no values";
            return table;
        }
    }
    for (const auto& [key, site] : value_sites(input, table.unmatched)) {
        const auto [base, next] = site.values;
        if (base == nullptr || next == nullptr)
            ++table.unmatched[base == nullptr ? 1 : 0];
        else if (std::max(share_of(base->invariance), share_of(next->invariance)) >=
                 min_shown_invariance)
            table.entries.push_back(compared(site, input, table.totals));
    }
    judge(table, input.scales);
    return table;
}

}  // namespace shadowprof
