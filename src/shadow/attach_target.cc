#include "shadow/attach_target.h"

#include <optional>

#include "base/quiet_thread.h"
#include "ptrace/proc.h"
#include "shadow/profiling.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

// A process may have overwritten its command line.
std::vector<std::string> command_of(pid_t pid) {
    auto command = read_command(pid);
    if (command && !command->empty()) return std::move(command).value();
    const auto program = read_exe_path(pid);
    return {program ? *program : fmt::format("process {}", pid)};
}

Result<RunOutcome> attach_and_sample(const RunOptions& options, int end_request,
                                     const ProgressListener& on_progress) {
    Profiling profiling(options);
    {
        TRY_ASSIGN(const auto sampler, Sampler::create(options, profiling.seed(), profiling.hub(),
                                                       profiling.modules(), profiling.collected()));
        TRY_ASSIGN(const auto target, Target::attach(profiling.hub(), *options.attach_to));
        profiling.begin(*target, command_of(target->pid()));
        const auto sampled = sampler->run(*target, on_progress,
                                          {.request_fd = end_request, .with_last_sample = true});
        const auto detached = target->detach(Target::Sleepers::leave_alone);
        sampler->finish();
        TRY(sampled);
        profiling.end(*target, [&](Profile& profile) {
            sampler->fill(profile);
            if (!target->dead_replicas()->empty())
                profile.notes.push_back(
                    fmt::format("the process is left with {} zombies: no thread of it could reap "
                                "its replicas",
                                target->dead_replicas()->size()));
            if (!detached)
                profile.notes.push_back("the process could not be detached from by itself: " +
                                        detached.error().message);
        });
    }
    return profiling.take_outcome();
}

}  // namespace

// In a thread of its own: threads of the target that must not be woken are let go when it ends.
Result<RunOutcome> attach_target(const RunOptions& options, int end_request,
                                 const ProgressListener& on_progress) {
    prepare_sigchld();
    std::optional<Result<RunOutcome>> outcome;
    start_quiet_thread([&] {
        outcome.emplace(attach_and_sample(options, end_request, on_progress));
    }).join();
    return *std::move(outcome);
}

}  // namespace shadowprof
