#include "shadow/profiling.h"

#include <sys/resource.h>

#include <chrono>

#include "shadow/host.h"

namespace shadowprof {
namespace {

double cpu_seconds(int who) {
    rusage usage = {};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void set_exit(RunInfo& run, const WaitStatus& end) {
    if (end.kind() == WaitStatus::Kind::killed)
        run.exit_signal = end.signal();
    else
        run.exit_status = end.exit_code();
}

// Takes out what was not asked for. Everything comes from one trace and costs nothing to have, but
// for hazards and streams: of what has to be asked for, no note says that it was not.
void keep_wanted(const ProfileKinds& kinds, Profile& profile) {
    const auto drop = [&](bool wanted, auto& list, std::string_view what) {
        if (wanted) return;
        list.clear();
        profile.notes.push_back(fmt::format("{} profiles were not asked for", what));
    };
    drop(kinds.edges, profile.edges, "edge");
    drop(kinds.paths, profile.paths, "path");
    drop(kinds.values, profile.values, "value");
    drop(kinds.calls, profile.calls, "call");
    if (!kinds.hazards) profile.hazards.clear(), profile.addresses.clear();
    if (!kinds.streams) profile.streams.clear();
}

// The settings that the run began with, and what was counted by them.
BurstStats burst_stats(const WindowOptions& bursts, const BurstCounts& counts) {
    struct Row {
        const char* name;
        BurstKind kind;
    };
    constexpr Row rows[] = {
        {"edge", BurstKind::edge}, {"path", BurstKind::path}, {"call", BurstKind::call}};
    BurstStats stats{.every = bursts.plan.every,
                     .events = std::string(name(bursts.plan.events)),
                     .lengths = {},
                     .events_counted = counts.events,
                     .bursts = counts.bursts,
                     .events_in_bursts = {}};
    for (const Row& row : rows) {
        if (bursts.plan.lengths[row.kind] == 0) continue;
        stats.lengths[row.name] = bursts.plan.lengths[row.kind];
        stats.events_in_bursts[row.name] = counts.events_on[row.kind];
    }
    if (bursts.value_length != 0) stats.lengths["value"] = bursts.value_length;
    if (bursts.reference_length != 0) stats.lengths["hazard"] = bursts.reference_length;
    return stats;
}

ProbeRequest request_of(const std::vector<std::string>& texts, ProbePlaces* places) {
    auto probes = ProbeSet::parse(texts);
    return {texts, probes ? std::move(*probes) : ProbeSet(), places};
}

std::uint64_t seed_from_clock() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

Profiling::Profiling(const RunOptions& options, SymbolAccess symbols)
    : options_(options),
      seed_(options.seed ? *options.seed : seed_from_clock()),
      probes_(request_of(options.probes, symbols.places)),
      collected_(
          {.values = options.profiles.values,
           .tnv = options.verbose,
           .seed = seed_,
           .are_samples = options.mode != SamplingMode::exact,
           .references = options.profiles.hazards ? std::optional(reorder_window(host_processor()))
                                                  : std::nullopt,
           .streams = options.profiles.streams ? std::optional(options.streams) : std::nullopt,
           .value_callers = options.profiles.values ? options.value_callers : 0,
           .probes = probes_.probes,
           .functions = symbols.functions},
          modules_) {}

void Profiling::begin(const Target& target, std::vector<std::string> command) {
    auto& run = outcome_.profile.run;
    run.command = std::move(command);
    run.pid = target.pid();
    run.started = rfc3339_now();
    run.seed = seed_;
    describe_host(run);
    modules_.look_through(target.pid());
}

void Profiling::end(const Target& target, const std::function<void(Profile&)>& fill) {
    if (target.end()) set_exit(outcome_.profile.run, *target.end());
    collected_.fill(outcome_.profile);
    fill(outcome_.profile);
    if (options_.windows)
        outcome_.profile.sampling.bursts =
            burst_stats(*options_.windows, collected_.burst_counts());
    outcome_.files = modules_.take_files();
}

RunOutcome Profiling::take_outcome() {
    auto& profile = outcome_.profile;
    keep_wanted(options_.profiles, profile);
    profile.overhead.profiler_cpu_seconds =
        cpu_seconds(RUSAGE_SELF) +
        static_cast<double>(profile.sampling.counters["worker_cpu_ns"]) / 1e9;
    return std::move(outcome_);
}

}  // namespace shadowprof
