#include "shadow/run_target.h"

#include <memory>

#include "base/quiet_thread.h"
#include "ptrace/launch.h"
#include "ptrace/proc.h"
#include "shadow/exact/exact_run.h"
#include "shadow/profiling.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

constexpr const char* random_addresses =
    "addresses are random: this system refuses to fix them (personality), as the filters of "
    "containers do; what depends on them may be counted otherwise in the next run";

// What the program is to find as if shadowprof were not between.
struct Inherited {
    InheritedSignals signals;
    InheritedLimits limits;
};

Result<void> follow_exactly(Profiling& profiling, const RunOptions& options,
                            const Inherited& inherited, const RunCompany& company) {
    TRY_ASSIGN(const auto run,
               ExactRun::create(options, profiling.seed(), profiling.hub(), profiling.modules(),
                                profiling.collected(), profiling.probes()));
    TRY_ASSIGN(const auto target, launch(profiling.hub(), {.command = options.command,
                                                           .signals = inherited.signals,
                                                           .limits = inherited.limits,
                                                           .fixed_addresses = true}));
    const auto has_fixed = has_fixed_addresses(target->pid());
    profiling.begin(*target, options.command);
    if (company.on_start) company.on_start(target->pid());
    run->run(*target, company.on_progress, company.end_request);
    profiling.end(*target, [&](Profile& profile) {
        run->fill(profile);
        if (!has_fixed || !*has_fixed) profile.notes.emplace_back(random_addresses);
    });
    return {};
}

struct Sampled {
    std::unique_ptr<Target> target;
    std::unique_ptr<Sampler> sampler;
};

Result<void> sample_to_end(Sampled& sampled, Profiling& profiling, const RunOptions& options,
                           const Inherited& inherited, const RunCompany& company,
                           SamplingControl* control) {
    const auto forks = options.follow_forks ? Forks::follow : Forks::let_go;
    TRY_ASSIGN(sampled.sampler,
               Sampler::create(options, profiling.seed(), profiling.hub(), profiling.modules(),
                               profiling.collected(), profiling.probes()));
    sampled.sampler->obey(control);
    TRY_ASSIGN(sampled.target, launch(profiling.hub(), {.command = options.command,
                                                        .signals = inherited.signals,
                                                        .limits = inherited.limits,
                                                        .forks = forks}));
    profiling.begin(*sampled.target, options.command);
    if (company.on_start) company.on_start(sampled.target->pid());
    sampled.target->resume();
    TRY(sampled.sampler->run(*sampled.target, company.on_progress,
                             {.request_fd = company.end_request}));
    sampled.sampler->finish();
    return sampled.sampler->detach(Target::Sleepers::leave_alone);
}

// In a thread of its own: processes that outlive the program, and threads of them that must not be
// woken, are let go when it ends.
Result<void> sample(Profiling& profiling, const RunOptions& options, const Inherited& inherited,
                    const RunCompany& company, SamplingControl* control) {
    Sampled sampled;
    Result<void> result;
    start_quiet_thread([&] {
        result = sample_to_end(sampled, profiling, options, inherited, company, control);
        if (result) return;
        sampled.sampler.reset();
        sampled.target.reset();
    }).join();
    TRY(std::move(result));
    profiling.end(*sampled.target, [&](Profile& profile) { sampled.sampler->fill(profile); });
    return {};
}

}  // namespace

Result<RunOutcome> run_target(const RunOptions& options, const RunCompany& company,
                              SamplingControl* control, SymbolAccess symbols) {
    Inherited inherited{InheritedSignals::capture(), {}};
    TRY_ASSIGN(inherited.limits, InheritedLimits::raise());
    prepare_sigchld();
    Profiling profiling(options, symbols);
    TRY(options.mode == SamplingMode::exact
            ? follow_exactly(profiling, options, inherited, company)
            : sample(profiling, options, inherited, company, control));
    return profiling.take_outcome();
}

}  // namespace shadowprof
