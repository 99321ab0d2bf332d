#include <fmt/format.h>

#include "profile/kinds/registry.h"
#include "report/diff/diff_tables.h"

namespace shadowprof {
namespace {

// Returns why counts of a model cannot be compared, or an empty string.
template <typename Kind>
std::string missing(const DiffInput& input) {
    for (const DiffSide side : both_sides)
        if (Kind::of(input.profile(side)).empty())
            return fmt::format("{} has no counts of the model (run --profiles={})",
                               side == DiffSide::base ? "BASE" : "NEW", Kind::option.word);
    if (Kind::host_of(input.profile(DiffSide::base)) !=
        Kind::host_of(input.profile(DiffSide::next)))
        return "the parameters of the models differ";
    return {};
}

template <typename Kind>
DiffTable diff_modelled(const DiffInput& input, DiffKind kind, DiffUnit unit,
                        std::uint64_t Kind::Record::*count) {
    if (auto why = missing<Kind>(input); !why.empty())
        return {.kind = kind, .missing = std::move(why)};
    TableBuilder<MatchKey> builder;
    for (const DiffSide side : both_sides)
        for (const auto& record : Kind::of(input.profile(side))) {
            if (record.*count == 0) continue;
            const MatchKey place = input.matcher.function(side, record.at);
            builder.add(place, place.by, {side, {record.at}, {}},
                        static_cast<double>(record.*count), std::nullopt);
        }
    DiffTable table = builder.take(kind, input.as_counts() ? unit : DiffUnit::share, input.scales);
    judge(table, input.scales);
    return table;
}

}  // namespace

DiffTable diff_mispredictions(const DiffInput& input) {
    return diff_modelled<BranchList>(input, DiffKind::mispredictions, DiffUnit::executions,
                                     &PredictedBranch::mispredictions);
}

DiffTable diff_l1_misses(const DiffInput& input) {
    return diff_modelled<CacheList>(input, DiffKind::l1_misses, DiffUnit::accesses,
                                    &CacheAccesses::l1_misses);
}

DiffTable diff_l2_misses(const DiffInput& input) {
    return diff_modelled<CacheList>(input, DiffKind::l2_misses, DiffUnit::accesses,
                                    &CacheAccesses::l2_misses);
}

DiffTable diff_l3_misses(const DiffInput& input) {
    return diff_modelled<CacheList>(input, DiffKind::l3_misses, DiffUnit::accesses,
                                    &CacheAccesses::l3_misses);
}

}  // namespace shadowprof
