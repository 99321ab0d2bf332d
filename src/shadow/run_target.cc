#include "shadow/run_target.h"

#include <sys/resource.h>

#include <chrono>

#include "ptrace/launch.h"
#include "shadow/exact_run.h"
#include "shadow/host.h"
#include "shadow/sampler.h"

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

// Takes out what was not asked for. Everything comes from one trace and costs nothing to have.
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
}

}  // namespace

Result<RunOutcome> run_target(const RunOptions& options, const ProgressListener& on_progress) {
    const auto signals = InheritedSignals::capture();
    prepare_sigchld();
    const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
    const auto seed = options.seed.value_or(static_cast<std::uint64_t>(clock));

    WaitHub hub;
    ModuleTable modules;
    ProcessProfile collected(
        {.values = options.profiles.values, .tnv = options.verbose, .seed = seed}, modules);
    RunOutcome outcome;
    auto& profile = outcome.profile;
    {
        const bool exact = options.mode == SamplingMode::exact;
        std::unique_ptr<Sampler> sampler;
        std::unique_ptr<ExactRun> exact_run;
        if (exact) {
            TRY_ASSIGN(exact_run, ExactRun::create(options, hub, modules, collected));
        } else {
            TRY_ASSIGN(sampler, Sampler::create(options, seed, hub, modules, collected));
        }
        profile.run.command = options.command;
        profile.run.started = rfc3339_now();
        profile.run.seed = seed;
        describe_host(profile.run);
        TRY_ASSIGN(auto target, launch(hub, {.command = options.command,
                                             .signals = signals,
                                             .fixed_addresses = exact}));
        profile.run.pid = target->pid();
        if (exact) {
            exact_run->run(*target, on_progress);
        } else {
            target->resume();
            TRY(sampler->run(*target, on_progress));
        }
        if (target->end()) set_exit(profile.run, *target->end());
        collected.fill(profile);
        exact ? exact_run->fill(profile) : sampler->fill(profile);
    }
    keep_wanted(options.profiles, profile);
    profile.overhead.profiler_cpu_seconds =
        cpu_seconds(RUSAGE_SELF) +
        static_cast<double>(profile.sampling.counters["worker_cpu_ns"]) / 1e9;
    return outcome;
}

}  // namespace shadowprof
