#include "profile/collect/process_profile.h"

#include "base/text/numbered.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

BlockRegistry::FindFunction find_in(FunctionFinder* functions, const ModuleTable& modules) {
    if (functions == nullptr) return {};
    return [functions, &modules](CodeLocation at) { return functions->find(at, modules); };
}

}  // namespace

ProcessProfile::ProcessProfile(const CollectorOptions& options, ModuleTable& modules)
    : options_(options),
      modules_(modules),
      registry_(find_in(options.functions, modules)),
      totals_(registry_, options.limits, options.are_samples, options.weighs_by_time) {}

SampleCollector& ProcessProfile::add_collector() {
    std::lock_guard lock(mutex_);
    CollectorOptions options = options_;
    options.seed = mix64(options_.seed + collectors_.size());
    collectors_.push_back(std::make_unique<SampleCollector>(registry_, totals_, options));
    return *collectors_.back();
}

std::vector<SampleCollector*> ProcessProfile::collectors() {
    std::lock_guard lock(mutex_);
    std::vector<SampleCollector*> collectors;
    for (auto& collector : collectors_) collectors.push_back(collector.get());
    return collectors;
}

// Takes long, but holds no lock that add_collector() waits for.
ProcessProfile::Gathered ProcessProfile::gather() {
    Gathered gathered;
    for (const Probe& probe : options_.probes.probes())
        gathered.probes.push_back(empty_probe_profile(probe));
    for (auto* collector : collectors()) {
        collector->add_to(gathered.values, gathered.references);
        collector->add_to(gathered.system_calls);
        collector->add_to(gathered.allocations);
        collector->add_to(gathered.branches);
        collector->add_to(gathered.call_costs);
        const auto probed = collector->probed();
        for (std::size_t i = 0; i < gathered.probes.size(); ++i) add(gathered.probes[i], probed[i]);
    }
    return gathered;
}

void ProcessProfile::fix_scale(const CountScale& scale) {
    {
        const std::lock_guard lock(mutex_);
        fixed_scale_ = scale;
    }
    // Counts of the past phase must not change any more.
    const std::lock_guard lock(totals_.mutex);
    totals_.stop_holding();
}

void ProcessProfile::fill(Profile& profile) {
    fill(profile, ErrorsOf::all);
}

void ProcessProfile::fill_at_end_of_phase(Profile& profile) {
    fill(profile, ErrorsOf::phase);
}

void ProcessProfile::fill(Profile& profile, ErrorsOf errors) {
    const auto times = known_time(profile);
    auto looked = looked_stacks(profile);
    auto gathered = gather();
    profile.values = gathered.values.profiles(registry_);
    for (std::string& note : probe_notes(gathered.probes)) profile.notes.push_back(std::move(note));
    profile.probes = std::move(gathered.probes);
    const auto scale = [this] {
        std::lock_guard lock(mutex_);
        return fixed_scale_;
    }();
    std::lock_guard lock(totals_.mutex);
    if (totals_.held().empty()) {
        totals_.end_batch();
        if (scale) totals_.flow.fix_scale(*scale);
        totals_.flow.fill(profile, errors);
    } else {
        fill_with_held(profile, times);
    }
    std::ranges::move(looked, std::back_inserter(profile.stacks));
    join_and_sort(profile.stacks);
    if (options_.system_calls) gathered.system_calls.fill(profile, scale.value_or(totals_.scale));
    if (options_.allocations) gathered.allocations.fill(profile, scale.value_or(totals_.scale));
    if (options_.branches) gathered.branches.fill(profile, scale.value_or(totals_.scale));
    if (options_.call_costs) gathered.call_costs.fill(profile, scale.value_or(totals_.scale));
    if (options_.references || options_.streams || options_.caches)
        gathered.references.fill(profile, scale.value_or(totals_.scale));
    if (totals_.samples_with_bursts != 0) totals_.bursts.fill(profile, totals_.flow, errors);
    if (errors == ErrorsOf::phase) totals_.begin_phase();
    profile.modules = modules_.modules();
    profile.sampling.counters["samples_collected"] = totals_.samples;
    profile.sampling.counters["samples_damaged"] = totals_.damaged_samples;
    profile.sampling.counters["graphs_emptied"] = totals_.graphs_emptied;
    if (totals_.damaged_samples != 0)
        profile.notes.push_back(fmt::format("{} {} cut short: the trace was damaged",
                                            numbered(totals_.damaged_samples, "sample"),
                                            word_for(totals_.damaged_samples, "was", "were")));
}

SampleOrigin::Function ProcessProfile::function_at(CodeLocation at) const {
    if (options_.functions == nullptr) return {};
    const auto found = options_.functions->find(at, modules_);
    return {found ? std::optional(found->start) : std::nullopt};
}

// May read symbols, so no lock that collectors wait for may be held.
ProcessProfile::KnownTime ProcessProfile::known_time(const Profile& profile) const {
    KnownTime times;
    if (!options_.weighs_by_time) return times;
    const auto kernel = modules_.kernel();
    double looks = 0, time_ns = 0;
    for (const PlaceTime& of_place : profile.times) {
        if (of_place.at.module == kernel) continue;
        times.looks[function_at(of_place.at)] += of_place.looks;
        looks += static_cast<double>(of_place.looks);
        time_ns += static_cast<double>(of_place.time_ns);
    }
    if (looks != 0) times.ns_per_look = time_ns / looks;
    return times;
}

// Takes the stacks that were looked at. Their places become functions, as in other stacks.
std::vector<Stack> ProcessProfile::looked_stacks(Profile& profile) const {
    std::vector<Stack> stacks;
    for (LookedStack& looked : std::exchange(profile.looked_stacks, {})) {
        if (!options_.limits.keeps_callers) looked.frames = {looked.frames.back()};
        CodeLocation& place = looked.frames.back();
        place = function_at(place).start.value_or(place);
        stacks.push_back({.frames = std::move(looked.frames), .time_ns = looked.time_ns});
    }
    return stacks;
}

void ProcessProfile::fill_with_held(Profile& profile, const KnownTime& times) const {
    std::vector<SampleOrigin> origins;
    for (const HeldPart& part : totals_.held()) {
        origins.push_back({.function = {},
                           .time_ns = part.size.time_ns,
                           .has_one_thread = part.has_one_thread,
                           .is_first_part = part.begins_sample});
        const bool is_empty = part.begins_sample && part.size.instructions == 0;
        if (part.began_at && !is_empty) origins.back().function = function_at(*part.began_at);
    }
    const auto weights = weigh_by_time(origins, times.looks, times.ns_per_look);
    totals_.with_held(weights).fill(profile);
    if (weights.known_strata != 0) profile.sampling.counters["time_strata"] = weights.known_strata;
}

BurstCounts ProcessProfile::burst_counts() {
    gather();
    std::lock_guard lock(totals_.mutex);
    return totals_.bursts.counts;
}

std::optional<double> ProcessProfile::edge_errors(std::uint64_t min_batches) const {
    constexpr std::size_t max_edges = 100;
    // The caller must not wait while a profile is being filled.
    const std::unique_lock lock(totals_.mutex, std::try_to_lock);
    if (!lock) return std::nullopt;
    const auto& sizes = totals_.flow.sizes();
    if (sizes.batches() < min_batches) return std::nullopt;
    // Edges have no bursts if they are not collected.
    const auto& steps = totals_.bursts.edges.empty() ? totals_.flow.steps() : totals_.bursts.edges;
    return steps.largest_error(sizes, max_edges);
}

Result<void> ProcessProfile::check() {
    gather();
    std::lock_guard lock(totals_.mutex);
    totals_.end_batch();
    const auto held = totals_.held().size();
    const auto all = totals_.with_held(
        {.factors = std::vector(held, 1.0), .strata = std::vector<std::uint32_t>(held)});
    TRY(all.check());
    return totals_.bursts.check(all);
}

}  // namespace shadowprof
