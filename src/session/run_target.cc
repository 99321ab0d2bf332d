#include "session/run_target.h"

#include <memory>

#include "base/quiet_thread.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/launch.h"
#include "session/make_sampler.h"
#include "shadow/exact/exact_run.h"
#include "shadow/results/profile_parts.h"
#include "shadow/results/profiling.h"
#include "shadow/results/separate_profiles.h"

namespace shadowprof {
namespace {

constexpr const char* random_addresses =
    "addresses are random: this system forbids fixing them (personality), as containers often do; "
    "counts that depend on them may differ from run to run";

// Signal state and limits as shadowprof found them, which the program inherits.
struct Inherited {
    InheritedSignals signals;
    InheritedLimits limits;
};

Forks forks_of(const RunOptions& options) {
    return options.follow_forks ? Forks::follow : Forks::detach;
}

Result<void> follow_exactly(Profiling& profiling, const RunOptions& options,
                            const Inherited& inherited, const RunHooks& hooks) {
    pid_t process = 0;
    const auto part_file = [&](unsigned number) { return hooks.part_file(process, number); };
    ProfileParts parts(profiling, profiling.collected(),
                       hooks.part_file ? ProfileParts::File(part_file) : nullptr,
                       hooks.rest_is_a_part);
    SharedProfile shared(profiling.collected(), parts);
    SeparateProfiles separate(profiling, hooks);
    ProcessProfiles& profiles =
        hooks.on_process_end ? static_cast<ProcessProfiles&>(separate) : shared;
    TRY_ASSIGN(const auto run, ExactRun::create(options, profiling.seed(), profiling.hub(),
                                                profiling.modules(), profiles, profiling.probes()));
    TRY_ASSIGN(const auto target, launch(profiling.hub(), {.command = options.command,
                                                           .signals = inherited.signals,
                                                           .limits = inherited.limits,
                                                           .fixed_addresses = true,
                                                           .forks = forks_of(options)}));
    const auto has_fixed = has_fixed_addresses(target->pid());
    profiling.begin(*target, options.command);
    process = target->pid();
    if (hooks.on_start) hooks.on_start(target->pid());
    run->run(*target, hooks.on_progress, hooks.end_request);
    profiling.end(*target, [&](Profile& profile) {
        run->fill(profile);
        if (!has_fixed || !*has_fixed) profile.notes.emplace_back(random_addresses);
    });
    profiling.change([&](Profile& profile) { parts.fill(profile); });
    return {};
}

struct Sampled {
    std::unique_ptr<Target> target;
    std::unique_ptr<Sampler> sampler;
};

Result<void> sample_to_end(Sampled& sampled, Profiling& profiling, const RunOptions& options,
                           const Inherited& inherited, const RunHooks& hooks, ProfileDumps& dumps,
                           SamplingControl* control) {
    TRY_ASSIGN(sampled.sampler, make_sampler(options, profiling, dumps, control));
    TRY_ASSIGN(sampled.target, launch(profiling.hub(), {.command = options.command,
                                                        .signals = inherited.signals,
                                                        .limits = inherited.limits,
                                                        .forks = forks_of(options)}));
    profiling.begin(*sampled.target, options.command);
    if (hooks.on_start) hooks.on_start(sampled.target->pid());
    sampled.target->resume();
    TRY(sampled.sampler->run(*sampled.target, hooks.on_progress,
                             {.request_fd = hooks.end_request}));
    sampled.sampler->finish();
    return sampled.sampler->detach(Target::Sleepers::leave_alone);
}

// Traces in a thread of its own: processes that outlive the program, and threads of them that must
// not be woken, are let go when it ends.
Result<void> sample(Profiling& profiling, const RunOptions& options, const Inherited& inherited,
                    const RunHooks& hooks, SamplingControl* control) {
    ProfileDumps dumps(profiling);
    Sampled sampled;
    Result<void> result;
    start_quiet_thread([&] {
        result = sample_to_end(sampled, profiling, options, inherited, hooks, dumps, control);
        if (result) return;
        sampled.sampler.reset();
        sampled.target.reset();
    }).join();
    TRY(std::move(result));
    finish_dumps(profiling, *sampled.target, *sampled.sampler, dumps, control);
    profiling.end(*sampled.target, [&](Profile& profile) { sampled.sampler->fill(profile); });
    return {};
}

}  // namespace

Result<RunOutcome> run_target(const RunOptions& options, const RunHooks& hooks,
                              SamplingControl* control, SymbolAccess symbols) {
    Inherited inherited{InheritedSignals::capture(), {}};
    TRY_ASSIGN(inherited.limits, InheritedLimits::raise());
    prepare_sigchld();
    Profiling profiling(options, symbols);
    TRY(options.mode == SamplingMode::exact
            ? follow_exactly(profiling, options, inherited, hooks)
            : sample(profiling, options, inherited, hooks, control));
    return profiling.take_outcome();
}

}  // namespace shadowprof
