#include "shadow/results/profiling.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/text/text_format.h"
#include "profile/kinds/values/invariance.h"
#include "profile/merge/size_limit.h"
#include "shadow/program/host.h"

namespace shadowprof {
namespace {

// The processor time of this process and its workers.
double profiler_cpu_seconds(const Profile& profile) {
    const auto& counters = profile.sampling.counters;
    const auto workers = counters.find("worker_cpu_ns");
    return cpu_seconds(RUSAGE_SELF) +
           (workers == counters.end() ? 0 : static_cast<double>(workers->second) / 1e9);
}

void set_exit(RunInfo& run, const WaitStatus& end) {
    if (end.kind() == WaitStatus::Kind::killed)
        run.exit_signal = end.signal();
    else if (end.kind() == WaitStatus::Kind::exited)
        run.exit_status = end.exit_code();
}

// Removes kinds that were not asked for. Notes may name the usual ones of these.
void keep_wanted(const ProfileKinds& kinds, bool notes_others, Profile& profile) {
    for_each_kind_on_request([&]<typename Kind>() {
        if constexpr (CollectedKind<Kind>) {
            if (kinds.has<Kind>()) return;
            if constexpr (!requires { Kind::is_flat_without_request; }) Kind::of(profile).clear();
            if (notes_others && Kind::option.is_usual && Kind::option.is_of_samples)
                profile.notes.push_back(
                    fmt::format("{} profiles were not asked for (--profiles)", Kind::option.word));
        }
    });
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { typename Kind::CollectedWith; })
            if (!kinds.has<typename Kind::CollectedWith>()) Kind::of(profile).clear();
    });
}

// The settings that the run began with, and what was counted with them.
BurstStats burst_stats(BurstOptions bursts, const ProfileKinds& kinds, const BurstCounts& counts) {
    BurstStats stats{.every = bursts.plan.every,
                     .events = std::string(name(bursts.plan.events)),
                     .lengths = {},
                     .events_counted = counts.events,
                     .bursts = counts.bursts + counts.values.bursts + counts.references.bursts,
                     .events_in_bursts = {}};
    for (const BurstedRow& row : bursted_rows) {
        if (!kinds.has_all(row.kind)) continue;
        const std::string kind(row.name);
        stats.lengths[kind] = row.length(bursts);
        if (const auto every = row.own_every(bursts); every != 0) stats.own_every[kind] = every;
        const TracedBursts counted = row.counted(counts);
        stats.bursts_by_kind[kind] = counted.bursts;
        stats.events_in_bursts[kind] = counted.events;
    }
    return stats;
}

ProbeSet parsed(const std::vector<std::string>& texts) {
    auto probes = ProbeSet::parse(texts);
    return probes ? std::move(*probes) : ProbeSet();
}

ProbeRequest request_of(const RunOptions& options, SymbolAccess symbols) {
    return {.texts = options.probes,
            .probes = parsed(options.probes),
            .places = symbols.places,
            .counted = parsed(entries_of_functions(options.count_in)),
            .allocators = options.profiles.has<AllocationList>() ? parsed(entries_of_allocators())
                                                                 : ProbeSet(),
            .interpreters = options.profiles.has<StackList>() ? symbols.interpreters : nullptr};
}

std::uint64_t seed_from_clock() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The clock counts all threads, and waiting for convergence needs errors all the time.
bool weighs_by_time(const RunOptions& options) {
    return options.mode != SamplingMode::exact && options.looks != LookMethod::none &&
           !options.bursts && options.threads == ThreadScope::all &&
           !options.until_converged_percent;
}

// Those of a just-in-time compiler may have names elsewhere.
void note_closed_memfds(const std::set<std::string>& names, Profile& profile) {
    for (const std::string& name : names)
        profile.notes.push_back(fmt::format(
            "functions in '{}' have no names but those of a perf map or jitdump: the file has no "
            "path, and the kernel opens it only for CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; run "
            "shadowprof as root",
            printable(base_name(name))));
}

}  // namespace

Profiling::Profiling(const RunOptions& options, SymbolAccess symbols)
    : options_(options),
      seed_(options.seed ? *options.seed : seed_from_clock()),
      probes_(request_of(options, symbols)),
      symbols_(symbols),
      collected_(collector_options(), modules_) {}

CollectorOptions Profiling::collector_options() {
    const auto& profiles = options_.profiles;
    return {.values = profiles.has<ValueList>(),
            .tnv = options_.verbose,
            .seed = seed_,
            .limits = {.keeps_paths = profiles.has<PathList>(),
                       .keeps_callers = profiles.has<StackList>(),
                       .stack_bytes = 2 * max_stack_bytes(options_.max_profile_bytes),
                       .path_bytes = 2 * max_path_bytes(options_.max_profile_bytes)},
            .are_samples = options_.mode != SamplingMode::exact,
            .weighs_by_time = weighs_by_time(options_),
            .references = profiles.has<HazardList>()
                              ? std::optional(reorder_window(host_processor()))
                              : std::nullopt,
            .streams = profiles.has<StreamList>() ? std::optional(options_.streams) : std::nullopt,
            .caches = profiles.has<CacheList>()
                          ? std::optional(options_.caches ? *options_.caches : host_caches())
                          : std::nullopt,
            .value_callers = profiles.has<ValueList>() ? options_.value_callers : 0,
            .probes = probes_.probes,
            .system_calls = profiles.has<SystemCallList>(),
            .allocations = profiles.has<AllocationList>(),
            .branches = profiles.has<BranchList>(),
            .call_costs = profiles.has<CallCostList>(),
            .functions = symbols_.functions,
            .scripts = symbols_.interpreters ? &scripts_ : nullptr};
}

std::unique_ptr<ProcessProfile> Profiling::make_collected() {
    return std::make_unique<ProcessProfile>(collector_options(), modules_);
}

void Profiling::begin(const Target& target, std::vector<std::string> command) {
    auto& run = outcome_.profile.run;
    run.command = std::move(command);
    run.pid = target.pid();
    run.started = rfc3339_now();
    run.seed = seed_;
    describe_host(run);
    modules_.scan_maps(target.pid());
}

void Profiling::add_bursts(Profile& profile, ProcessProfile& collected) {
    if (!options_.bursts) return;
    profile.sampling.bursts =
        burst_stats(*options_.bursts, options_.profiles, collected.burst_counts());
}

// Before the scale is known, no sample has finished. What is already collected then comes with the
// next phase, as it could not be scaled like that one.
Profile Profiling::complete(SampledSoFar sampled, DumpPart part, ProcessProfile& collected) {
    Profile profile = std::move(sampled.profile);
    if (part == DumpPart::whole || sampled.scale)
        add_collected(profile, part, collected);
    else
        profile.probes.clear();
    profile.modules = modules_.modules();
    profile.script_functions = scripts_.functions();
    add_bursts(profile, collected);
    const double seconds = profile.run.seconds;
    profile.run = outcome_.profile.run;
    profile.run.seconds = seconds;
    profile.overhead.profiler_cpu_seconds = profiler_cpu_seconds(profile);
    return profile;
}

// `profile` must have everything else that is known of the run.
void Profiling::add_collected(Profile& profile, DumpPart part, ProcessProfile& collected) {
    const auto probed = std::exchange(profile.probes, {});
    if (part == DumpPart::whole)
        collected.fill(profile);
    else
        collected.fill_at_end_of_phase(profile);
    for (std::size_t i = 0; i < std::min(probed.size(), profile.probes.size()); ++i)
        add(profile.probes[i], probed[i]);
}

RunOutcome Profiling::outcome_so_far(Profile profile) {
    state_invariance(profile);
    keep_wanted(options_.profiles, options_.notes_unasked_kinds, profile);
    keep_size(profile, options_.max_profile_bytes);
    return {std::move(profile), modules_.copy_files(), modules_.open_perf_maps()};
}

void Profiling::note_end(const Target& target) {
    if (target.end()) set_exit(outcome_.profile.run, *target.end());
}

void Profiling::end(const Target& target, const std::function<void(Profile&)>& fill) {
    note_end(target);
    fill(outcome_.profile);
    add_collected(outcome_.profile, DumpPart::whole, collected_);
    add_bursts(outcome_.profile, collected_);
    outcome_.profile.script_functions = scripts_.functions();
    state_invariance(outcome_.profile);
    outcome_.files = modules_.take_files();
    outcome_.perf_maps = modules_.open_perf_maps();
    note_closed_memfds(modules_.closed_memfds(), outcome_.profile);
}

RunOutcome Profiling::take_outcome() {
    auto& profile = outcome_.profile;
    keep_wanted(options_.profiles, options_.notes_unasked_kinds, profile);
    keep_size(profile, options_.max_profile_bytes);
    profile.overhead.profiler_cpu_seconds = profiler_cpu_seconds(profile);
    return std::move(outcome_);
}

}  // namespace shadowprof
