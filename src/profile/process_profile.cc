#include "profile/process_profile.h"

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
      totals_(registry_, options) {}

SampleCollector& ProcessProfile::add_collector() {
    std::lock_guard lock(mutex_);
    CollectorOptions options = options_;
    options.seed = mix64(options_.seed + collectors_.size());
    collectors_.push_back(std::make_unique<SampleCollector>(registry_, totals_, options));
    return *collectors_.back();
}

ProcessProfile::Gathered ProcessProfile::gather() {
    std::lock_guard lock(mutex_);
    Gathered gathered;
    for (const Probe& probe : options_.probes.probes())
        gathered.probes.push_back(empty_probe_profile(probe));
    for (auto& collector : collectors_) {
        collector->add_to(gathered.values, gathered.references);
        const auto probed = collector->probed();
        for (std::size_t i = 0; i < gathered.probes.size(); ++i) add(gathered.probes[i], probed[i]);
    }
    return gathered;
}

void ProcessProfile::fill(Profile& profile) {
    auto gathered = gather();
    profile.values = gathered.values.profiles(registry_);
    for (std::string& note : probe_notes(gathered.probes)) profile.notes.push_back(std::move(note));
    profile.probes = std::move(gathered.probes);
    std::lock_guard lock(totals_.mutex);
    totals_.flow.fill(profile);
    if (options_.references || options_.streams)
        gathered.references.fill(profile, totals_.flow.scale());
    if (totals_.samples_with_bursts != 0) totals_.bursts.fill(profile, totals_.flow);
    profile.modules = modules_.modules();
    profile.sampling.counters["samples_collected"] = totals_.samples;
    profile.sampling.counters["samples_damaged"] = totals_.damaged_samples;
    profile.sampling.counters["graphs_emptied"] = totals_.graphs_emptied;
    if (totals_.damaged_samples != 0)
        profile.notes.push_back(fmt::format("{} samples were cut short: their trace was damaged",
                                            totals_.damaged_samples));
}

BurstCounts ProcessProfile::burst_counts() {
    gather();
    std::lock_guard lock(totals_.mutex);
    return totals_.bursts.counts;
}

std::optional<double> ProcessProfile::edge_errors(std::uint64_t least_batches) const {
    constexpr std::size_t most_edges = 100;
    std::lock_guard lock(totals_.mutex);
    const auto& sizes = totals_.flow.sizes();
    if (sizes.batches() < least_batches) return std::nullopt;
    // Edges that are not collected have no bursts.
    const auto& steps = totals_.bursts.edges.empty() ? totals_.flow.steps() : totals_.bursts.edges;
    return steps.largest_error(sizes, most_edges);
}

Result<void> ProcessProfile::check() {
    gather();
    std::lock_guard lock(totals_.mutex);
    TRY(totals_.flow.check());
    return totals_.bursts.check(totals_.flow);
}

}  // namespace shadowprof
