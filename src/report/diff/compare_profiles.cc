#include "report/diff/compare_profiles.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "report/diff/diff_tables.h"
#include "report/diff/diff_totals.h"

namespace shadowprof {
namespace {

// In the order of DiffKind.
constexpr std::array make_table{diff_functions, diff_entries,   diff_edges,    diff_paths,
                                diff_values,    diff_levels,    diff_loads,    diff_mispredictions,
                                diff_l1_misses, diff_l2_misses, diff_l3_misses};

bool has_errors(const DiffTable& table) {
    return !table.entries.empty() && table.unjudged < table.entries.size();
}

void note_exactness(Diff& diff, const char* side, const Profile& profile) {
    if (!profile.sampling.exact) return;
    const ExactStats& exact = *profile.sampling.exact;
    if (!exact.stopped_early.empty())
        diff.notes.push_back(fmt::format("{} is exact but not to the end of the run: {}", side,
                                         exact.stopped_early));
    if (exact.diverged != 0)
        diff.notes.push_back(
            fmt::format("{}: {} of {} compared intervals diverged; its counts may be off", side,
                        exact.diverged, exact.compared));
}

void note_guesses(Diff& diff) {
    for (const MatchedModule& module : diff.modules)
        if (module.common_functions != 0)
            diff.notes.push_back(fmt::format(
                "{} in NEW is taken for a build of {} in BASE, as {} functions have the "
                "same names; --map says otherwise",
                module.path, module.base_path, module.common_functions));
}

void add_notes(Diff& diff, const DiffInput& input) {
    const Profile &base = input.files[0]->profile, &next = input.files[1]->profile;
    note_exactness(diff, "BASE", base);
    note_exactness(diff, "NEW", next);
    if (input.scales[0].exact != input.scales[1].exact)
        diff.notes.push_back(fmt::format("{} is exact and {} sampled: they are compared by shares",
                                         input.scales[0].exact ? "BASE" : "NEW",
                                         input.scales[0].exact ? "NEW" : "BASE"));
    if (diff.as_counts && (base.run.merged_runs != 1 || next.run.merged_runs != 1))
        diff.notes.push_back(fmt::format("counts are those of a mean run, of {} and {}",
                                         base.run.merged_runs, next.run.merged_runs));
    if (base.run.cpu != next.run.cpu && diff.table(DiffKind::loads).missing.empty())
        diff.notes.emplace_back("the processors differ: so do the cycles that loads take");
    const DiffTable& functions = diff.table(DiffKind::functions);
    if (!diff.as_counts && functions.missing.empty() && !has_errors(functions))
        diff.notes.emplace_back(
            "errors are not known, as one of the profiles has too few samples (at least 8 are "
            "needed): nobody can say what is noise; profile for longer, or with a larger --budget, "
            "or use --mode=exact");
}

}  // namespace

Diff compare_profiles(ProfileFile& base, ProfileFile& next, std::size_t most,
                      const std::vector<FilePair>& pairs) {
    LocationMatcher matcher(base, next, pairs);
    const DiffInput input{{&base, &next}, scales_of(base.profile, next.profile), matcher};
    Diff diff;
    diff.as_counts = input.as_counts();
    add_totals(diff, input);
    for (const auto& make : make_table) {
        DiffTable& table = diff.tables.emplace_back(make(input));
        const bool all = table.kind == DiffKind::functions || table.kind == DiffKind::entries;
        if (!all && table.entries.size() > most) table.entries.resize(most);
        for (DiffEntry& entry : table.entries) name_entry(entry, table.kind, input);
    }
    for (const MatchedModule& module : matcher.modules())
        if (!module.numbers[0].empty() || !module.numbers[1].empty())
            diff.modules.push_back(module);
    diff.functions = matcher.functions();
    note_guesses(diff);
    add_notes(diff, input);
    return diff;
}

}  // namespace shadowprof
