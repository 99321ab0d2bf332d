#include "profile/accuracy/accuracy.h"

#include <fmt/format.h>

#include <tuple>

#include "profile/accuracy/accuracy_metrics.h"
#include "profile/accuracy/accuracy_values.h"
#include "profile/accuracy/accuracy_view.h"
#include "profile/merge/joint_modules.h"

namespace shadowprof {
namespace {

using Ends = std::tuple<CodeLocation, CodeLocation, EdgeKind>;

template <typename Key, typename Describe>
AccuracyMetric metric_of(const Distances& distances, const std::vector<CountPair<Key>>& shares,
                         std::size_t most, Describe describe) {
    AccuracyMetric metric{
        .value = distances.value, .missing = {}, .entries = distances.entries, .worst = {}};
    std::vector<AccuracyEntry> entries;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (distances.of[i] <= 0) continue;
        AccuracyEntry entry = describe(shares[i].key);
        entry.full = shares[i].full;
        entry.sampled = shares[i].sampled;
        entry.distance = distances.of[i];
        entries.push_back(std::move(entry));
    }
    keep_worst(metric, std::move(entries), most);
    return metric;
}

// Whether the full profile counted anything. Otherwise the metric is left out.
template <typename Key>
bool has_counts(const std::vector<CountPair<Key>>& shares) {
    return std::any_of(shares.begin(), shares.end(),
                       [](const CountPair<Key>& pair) { return pair.full > 0; });
}

AccuracyMetric path_metric(const AccuracyView& full, const AccuracyView& sampled,
                           std::size_t most) {
    if (auto why = missing<PathList>(full, sampled); !why.empty()) return left_out(std::move(why));
    CountPairs<std::vector<CodeLocation>> pairs;
    for (const Path& path : full.profile.paths)
        pairs.add_full(full.common(path.blocks), path.count);
    for (const Path& path : sampled.profile.paths)
        pairs.add_sampled(sampled.common(path.blocks), path.count);
    const auto shares = pairs.shares();
    if (!has_counts(shares)) return left_out("FULL has no paths that were executed");
    return metric_of(path_distances(shares), shares, most,
                     [](const std::vector<CodeLocation>& blocks) {
                         return AccuracyEntry{.at = blocks, .what = {}};
                     });
}

AccuracyMetric edge_metric(const AccuracyView& full, const AccuracyView& sampled,
                           std::size_t most) {
    if (auto why = missing<EdgeList>(full, sampled); !why.empty()) return left_out(std::move(why));
    CountPairs<Ends> pairs;
    for (const Edge& e : full.profile.edges)
        pairs.add_full({full.common(e.from), full.common(e.to), e.kind}, e.count);
    for (const Edge& e : sampled.profile.edges)
        pairs.add_sampled({sampled.common(e.from), sampled.common(e.to), e.kind}, e.count);
    const auto shares = pairs.shares();
    if (!has_counts(shares)) return left_out("FULL has no edges that were executed");
    return metric_of(edge_distances(shares), shares, most, [](const Ends& ends) {
        return AccuracyEntry{.at = {std::get<0>(ends), std::get<1>(ends)},
                             .what = std::string(name(std::get<2>(ends)))};
    });
}

AccuracyMetric call_metric(const AccuracyView& full, const AccuracyView& sampled,
                           std::size_t most) {
    if (auto why = missing<CallList>(full, sampled); !why.empty()) return left_out(std::move(why));
    using Pair = std::pair<CodeLocation, CodeLocation>;
    CountPairs<Pair> pairs;
    for (const CallPair& c : full.profile.calls)
        pairs.add_full({full.common(c.site), full.common(c.callee)}, c.count);
    for (const CallPair& c : sampled.profile.calls)
        pairs.add_sampled({sampled.common(c.site), sampled.common(c.callee)}, c.count);
    const auto shares = pairs.shares();
    if (!has_counts(shares)) return left_out("FULL has no calls that were made");
    return metric_of(overlap_distances(shares), shares, most, [](const Pair& pair) {
        return AccuracyEntry{.at = {pair.first, pair.second}, .what = {}};
    });
}

// Methods of profiles without edges and calls have only instructions.
bool counts_methods(const Profile& profile) {
    return std::any_of(profile.methods.begin(), profile.methods.end(),
                       [](const Method& m) { return m.entries + m.back_edges != 0; });
}

AccuracyMetric method_metric(const AccuracyView& full, const AccuracyView& sampled,
                             std::size_t most) {
    if (auto why = missing<MethodList>(full, sampled); !why.empty())
        return left_out(std::move(why));
    for (const AccuracyView* side : {&full, &sampled})
        if (!side->profile.methods.empty() && !counts_methods(side->profile))
            return left_out(fmt::format("{} has counted no entries and back-edges", side->name));
    CountPairs<CodeLocation> pairs;
    for (const Method& m : full.profile.methods)
        pairs.add_full(full.common(m.entry), m.entries + m.back_edges);
    for (const Method& m : sampled.profile.methods)
        pairs.add_sampled(sampled.common(m.entry), m.entries + m.back_edges);
    const auto shares = pairs.shares();
    return metric_of(overlap_distances(shares), shares, most,
                     [](CodeLocation entry) { return AccuracyEntry{.at = {entry}, .what = {}}; });
}

AccuracyMetric stream_metric(const AccuracyView& full, const AccuracyView& sampled,
                             std::size_t most) {
    if (auto why = missing<StreamList>(full, sampled); !why.empty())
        return left_out(std::move(why));
    using References = std::vector<DataReference>;
    const auto common = [](const AccuracyView& side, References references) {
        for (DataReference& reference : references) reference.at = side.common(reference.at);
        return references;
    };
    CountPairs<References> pairs;
    for (const DataStream& s : full.profile.streams)
        pairs.add_full(common(full, s.references), s.heat());
    for (const DataStream& s : sampled.profile.streams)
        pairs.add_sampled(common(sampled, s.references), s.heat());
    const auto shares = pairs.shares();
    if (!has_counts(shares)) return left_out("FULL has no streams that occurred");
    return metric_of(overlap_distances(shares), shares, most, [](const References& references) {
        AccuracyEntry entry;
        for (const DataReference& reference : references) entry.at.push_back(reference.at);
        if (!references.empty()) entry.what = fmt::format("from {:#x}", references.front().address);
        return entry;
    });
}

bool is_exact(const SamplingStats& sampling) {
    return sampling.exact && sampling.exact->diverged == 0 && sampling.exact->excluded.empty() &&
           sampling.exact->stopped_early.empty();
}

std::string why_not_exact(const SamplingStats& sampling) {
    if (!sampling.exact) return fmt::format("mode {}", sampling.mode);
    if (!sampling.exact->stopped_early.empty())
        return fmt::format("not to the end: {}", sampling.exact->stopped_early);
    if (sampling.exact->diverged != 0)
        return fmt::format("{} of {} compared intervals diverged", sampling.exact->diverged,
                           sampling.exact->compared);
    return "intervals were left out";
}

void measure_coverage(Accuracy& accuracy, const Profile& full, const Profile& sampled) {
    std::optional<double> executed;
    if (sampled.sampling.target_instructions)
        executed = static_cast<double>(*sampled.sampling.target_instructions);
    else if (full.sampling.target_instructions && full.run.merged_runs != 0) {
        executed = static_cast<double>(*full.sampling.target_instructions) /
                   static_cast<double>(full.run.merged_runs) *
                   static_cast<double>(sampled.run.merged_runs);
        accuracy.coverage_by_full = true;
    }
    if (executed && *executed > 0)
        accuracy.coverage = static_cast<double>(sampled.sampling.instructions) / *executed;
    else
        accuracy.coverage_by_full = false;
}

// The module of the program itself: the first whose file name is that of the command.
const Module* program_of(const Profile& profile) {
    if (profile.run.command.empty()) return nullptr;
    const auto name = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
    for (const Module& module : profile.modules)
        if (!is_pseudo_module(module) && name(module.path) == name(profile.run.command.front()))
            return &module;
    return nullptr;
}

bool has_module(const Profile& profile, const Module& module) {
    return std::any_of(profile.modules.begin(), profile.modules.end(), [&](const Module& other) {
        return module_key(other) == module_key(module);
    });
}

bool has_files(const Profile& profile) {
    return !std::all_of(profile.modules.begin(), profile.modules.end(), is_pseudo_module);
}

Result<void> check_same_program(const Profile& full, const Profile& sampled) {
    const Module *a = program_of(full), *b = program_of(sampled);
    if (a != nullptr && b != nullptr && !has_module(sampled, *a) && !has_module(full, *b))
        return Error{ErrorCode::invalid, 0,
                     fmt::format("these are profiles of different programs, or of different builds "
                                 "of one: '{}' (build-id {}) and '{}' (build-id {})",
                                 a->path, a->build_id.empty() ? "none" : a->build_id, b->path,
                                 b->build_id.empty() ? "none" : b->build_id)};
    const bool common =
        std::any_of(full.modules.begin(), full.modules.end(), [&](const Module& module) {
            return !is_pseudo_module(module) && has_module(sampled, module);
        });
    if (has_files(full) && has_files(sampled) && !common)
        return Error{ErrorCode::invalid, 0,
                     "the profiles have no module in common: are they of different programs, or of "
                     "different builds of one?"};
    return {};
}

}  // namespace

Result<Accuracy> measure_accuracy(const Profile& full, const Profile& sampled, std::size_t most) {
    TRY(check_same_program(full, sampled));
    JointModules joint;
    const AccuracyView f{full, "FULL", joint.add(full.modules)};
    const AccuracyView s{sampled, "SAMPLED", joint.add(sampled.modules)};
    Accuracy accuracy;
    accuracy.modules = joint.list();
    accuracy.full_is_exact = is_exact(full.sampling);
    if (!accuracy.full_is_exact)
        accuracy.notes.push_back(
            fmt::format("FULL is not the whole truth ({}): what differs may be its error as well",
                        why_not_exact(full.sampling)));
    accuracy.paths = path_metric(f, s, most);
    measure_values(accuracy, f, s, most);
    accuracy.edges = edge_metric(f, s, most);
    accuracy.calls = call_metric(f, s, most);
    accuracy.methods = method_metric(f, s, most);
    accuracy.streams = stream_metric(f, s, most);
    if (accuracy.streams.value == 0.0 && !sampled.streams.empty())
        accuracy.notes.emplace_back(
            "the profiles have no data stream in common: streams are the same "
            "only where the runs had the same addresses");
    if (accuracy.values_of_the_run != 0)
        accuracy.notes.push_back(
            fmt::format("the top values of {} instructions are addresses or the like, which differ "
                        "between runs: their shares are compared",
                        accuracy.values_of_the_run));
    measure_coverage(accuracy, full, sampled);
    return accuracy;
}

Result<void> add_floors(Accuracy& accuracy, const Profile& full, const Profile& again) {
    TRY_ASSIGN(const Accuracy floors, measure_accuracy(full, again, 0));
    for (const AccuracyRow& row : accuracy_rows)
        (accuracy.*row.metric).floor = (floors.*row.metric).value;
    if (!is_exact(again.sampling))
        accuracy.notes.push_back(
            fmt::format("the floor's profile is not the whole truth ({}): floors may be too far",
                        why_not_exact(again.sampling)));
    // Merged runs have no common seed.
    if (full.run.seed == again.run.seed && full.run.seed != 0)
        accuracy.notes.emplace_back(
            "FULL and the floor's profile have the same seed: floors of values may be too near");
    return {};
}

}  // namespace shadowprof
