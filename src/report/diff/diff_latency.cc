#include <fmt/format.h>

#include <cmath>

#include "base/text/text_format.h"
#include "profile/statistics/batch_means.h"
#include "report/diff/diff_tables.h"

namespace shadowprof {
namespace {

// The least number of timed loads in each profile for comparing a site's median.
constexpr std::uint64_t min_timed = 16;

std::uint64_t sessions_of(const Profile& profile) {
    const auto sessions = profile.sampling.counters.find("latency_sessions");
    return sessions == profile.sampling.counters.end() ? 0 : sessions->second;
}

std::string missing(const DiffInput& input) {
    for (const DiffSide side : both_sides)
        if (input.profile(side).latency.empty())
            return fmt::format("{} has no load latencies", side == DiffSide::base ? "BASE" : "NEW");
    return {};
}

std::map<std::string, double> loads_by_level(const Profile& profile) {
    std::map<std::string, double> levels;
    for (const LoadLatency& load : profile.latency)
        for (const auto& [level, count] : load.levels) levels[level] += static_cast<double>(count);
    return levels;
}

// The share is moved towards one half by two loads of each kind, after Agresti and Coull: 0 of few
// loads does not mean that the share is certainly 0.
std::optional<double> share_error(double share, std::uint64_t sessions) {
    if (sessions < BatchSizes::min_batches) return std::nullopt;
    const auto n = static_cast<double>(sessions);
    const double middle = (share * n + 2) / (n + 4);
    return student_t(n - 1) * std::sqrt(middle * (1 - middle) / n);
}

std::string levels_text(const LoadLatency& load) {
    std::string text;
    for (const auto& [level, count] : load.levels)
        text += fmt::format(
            "{}{} {}", text.empty() ? "" : ", ", level,
            whole_percent(static_cast<double>(count) / static_cast<double>(load.count())));
    return text;
}

}  // namespace

DiffTable diff_levels(const DiffInput& input) {
    DiffTable table{.kind = DiffKind::levels, .unit = DiffUnit::share, .missing = missing(input)};
    if (!table.missing.empty()) return table;
    std::map<std::string, std::array<double, 2>> loads;
    DiffScales scales = input.scales;
    std::array<std::uint64_t, 2> sessions{};
    for (const std::size_t side : {0UL, 1UL}) {
        const Profile& profile = input.files[side]->profile;
        for (const auto& [level, count] : loads_by_level(profile)) {
            loads[level][side] = count;
            table.totals[side] += count;
        }
        sessions[side] = sessions_of(profile);
        scales[side].exact = false;
        scales[side].degrees_of_freedom = sessions[side] > 1 ? sessions[side] - 1 : 1;
    }
    if (table.totals[0] <= 0 || table.totals[1] <= 0) {
        table.missing = "the levels of its loads are not known";
        return table;
    }
    for (const auto& [level, counts] : loads) {
        DiffEntry entry;
        entry.name = level;
        const double base = counts[0] / table.totals[0], next = counts[1] / table.totals[1];
        entry.base = Measured{base, share_error(base, sessions[0])};
        entry.next = Measured{next, share_error(next, sessions[1])};
        table.entries.push_back(std::move(entry));
    }
    judge(table, scales);
    return table;
}

DiffTable diff_loads(const DiffInput& input) {
    DiffTable table{.kind = DiffKind::loads, .unit = DiffUnit::cycles, .missing = missing(input)};
    if (!table.missing.empty()) return table;
    std::map<MatchKey, std::array<const LoadLatency*, 2>> sites;
    for (const std::size_t side : {0UL, 1UL})
        for (const LoadLatency& load : input.files[side]->profile.latency) {
            table.totals[side] += static_cast<double>(load.count());
            const MatchKey place = input.matcher.place(both_sides[side], load.at);
            const LoadLatency*& known = sites[place][side];
            if (place.by == MatchedBy::nothing)
                ++table.unmatched[side];
            else if (known == nullptr || known->count() < load.count())
                known = &load;
        }
    for (const auto& [place, loads] : sites) {
        const auto [base, next] = loads;
        if (base == nullptr || next == nullptr) continue;
        if (base->timed < min_timed || next->timed < min_timed) continue;
        DiffEntry entry{.place = {DiffSide::next, {next->at}, {}}, .matched = place.by};
        entry.place.detail = fmt::format("{}; was {}", levels_text(*next), levels_text(*base));
        entry.base = Measured{base->median_cycles(), std::nullopt};
        entry.next = Measured{next->median_cycles(), std::nullopt};
        entry.importance = (static_cast<double>(base->count()) / table.totals[0] +
                            static_cast<double>(next->count()) / table.totals[1]) /
                           2;
        table.entries.push_back(std::move(entry));
    }
    judge(table, input.scales);
    return table;
}

}  // namespace shadowprof
