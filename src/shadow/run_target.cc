#include "shadow/run_target.h"

#include "ptrace/launch.h"
#include "shadow/exact_run.h"
#include "shadow/profiling.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

Result<void> follow_exactly(Profiling& profiling, const RunOptions& options,
                            const InheritedSignals& signals, int end_request,
                            const ProgressListener& on_progress) {
    TRY_ASSIGN(const auto run, ExactRun::create(options, profiling.hub(), profiling.modules(),
                                                profiling.collected()));
    TRY_ASSIGN(const auto target,
               launch(profiling.hub(),
                      {.command = options.command, .signals = signals, .fixed_addresses = true}));
    profiling.begin(*target, options.command);
    run->run(*target, on_progress, end_request);
    profiling.end(*target, [&](Profile& profile) { run->fill(profile); });
    return {};
}

Result<void> sample(Profiling& profiling, const RunOptions& options,
                    const InheritedSignals& signals, int end_request,
                    const ProgressListener& on_progress) {
    TRY_ASSIGN(const auto sampler, Sampler::create(options, profiling.seed(), profiling.hub(),
                                                   profiling.modules(), profiling.collected()));
    TRY_ASSIGN(const auto target,
               launch(profiling.hub(), {.command = options.command, .signals = signals}));
    profiling.begin(*target, options.command);
    target->resume();
    TRY(sampler->run(*target, on_progress, {.request_fd = end_request}));
    TRY(target->detach());
    sampler->finish();
    profiling.end(*target, [&](Profile& profile) { sampler->fill(profile); });
    return {};
}

}  // namespace

Result<RunOutcome> run_target(const RunOptions& options, int end_request,
                              const ProgressListener& on_progress) {
    const auto signals = InheritedSignals::capture();
    prepare_sigchld();
    Profiling profiling(options);
    TRY(options.mode == SamplingMode::exact
            ? follow_exactly(profiling, options, signals, end_request, on_progress)
            : sample(profiling, options, signals, end_request, on_progress));
    return profiling.take_outcome();
}

}  // namespace shadowprof
