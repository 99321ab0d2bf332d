#include "session/attach_target.h"

#include <memory>

#include "base/quiet_thread.h"
#include "base/text/numbered.h"
#include "ptrace/proc/inherited_limits.h"
#include "ptrace/proc/proc.h"
#include "ptrace/replica/attached_children.h"
#include "session/busy_children.h"
#include "session/make_sampler.h"
#include "shadow/results/profiling.h"

namespace shadowprof {
namespace {

// A process may have overwritten its command line.
std::vector<std::string> command_of(pid_t pid) {
    auto command = read_title(pid);
    if (command && !command->empty()) return std::move(command).value();
    const auto program = read_exe_path(pid);
    return {program ? *program : fmt::format("process {}", pid)};
}

// What remains to be reported after the target was let go.
struct SampledTarget {
    Profiling profiling;
    ProfileDumps dumps{profiling};
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<Target> target;
    Result<void> sampling, detaching;
    std::vector<std::string> remarks;

    SampledTarget(const RunOptions& options, SymbolAccess symbols) : profiling(options, symbols) {}
};

void take_children(SampledTarget& sampled) {
    auto [children, refusals] = attach_children(sampled.profiling.hub(), *sampled.target);
    sampled.sampler->also_sample(std::move(children));
    for (const auto& refusal : refusals)
        sampled.remarks.push_back("a child is not in the profile: " + refusal);
}

// A sleeping thread that the detach leaves alone stays traced until the calling thread ends. If it
// wakes up before, it stands in a stop that nobody handles. So nothing that takes long may follow
// the detach.
Result<void> attach_and_sample(const RunOptions& options, int end_request,
                               const ProgressListener& on_progress, SamplingControl* control,
                               SampledTarget& sampled) {
    Profiling& profiling = sampled.profiling;
    TRY_ASSIGN(sampled.sampler, make_sampler(options, profiling, sampled.dumps, control));
    const auto forks = options.follow_forks ? Forks::follow : Forks::detach;
    TRY_ASSIGN(sampled.target, Target::attach(profiling.hub(), *options.attach_to, forks));
    profiling.begin(*sampled.target, command_of(sampled.target->pid()));
    std::optional<ChildrenWatch> unfollowed;
    if (options.existing_children)
        take_children(sampled);
    else
        unfollowed.emplace(sampled.target->pid());
    sampled.sampling = sampled.sampler->run(*sampled.target, on_progress,
                                            {.request_fd = end_request, .with_last_sample = true});
    if (unfollowed)
        if (auto note = unfollowed->note()) sampled.remarks.push_back(*std::move(note));
    sampled.detaching = sampled.sampler->detach(Target::Sleepers::leave_alone);
    sampled.sampler->finish();
    return {};
}

Result<RunOutcome> conclude(SampledTarget& sampled, SamplingControl* control) {
    TRY(std::move(sampled.sampling));
    finish_dumps(sampled.profiling, *sampled.target, *sampled.sampler, sampled.dumps, control);
    sampled.profiling.end(*sampled.target, [&](Profile& profile) {
        sampled.sampler->fill(profile);
        profile.notes.insert(profile.notes.end(), sampled.remarks.begin(), sampled.remarks.end());
        const auto& zombies = *sampled.target->zombies();
        if (!zombies.empty())
            profile.notes.push_back(
                fmt::format("shadowprof left {} in the process: no thread of it could be stopped "
                            "to reap forked copies",
                            numbered(zombies.size(), "zombie")));
        if (!sampled.detaching)
            profile.notes.push_back(
                "shadowprof could not detach from the process and left that to the kernel: " +
                sampled.detaching.error().message);
    });
    sampled.sampler.reset();
    sampled.target.reset();
    auto outcome = sampled.profiling.take_outcome();
    outcome.remarks = std::move(sampled.remarks);
    return outcome;
}

}  // namespace

// Traces in a thread of its own: threads of the target that must not be woken are let go when it
// ends.
Result<RunOutcome> attach_target(const RunOptions& options, int end_request,
                                 const ProgressListener& on_progress, SamplingControl* control,
                                 SymbolAccess symbols) {
    TRY(InheritedLimits::raise());
    prepare_sigchld();
    SampledTarget sampled(options, symbols);
    Result<void> attached;
    start_quiet_thread([&] {
        attached = attach_and_sample(options, end_request, on_progress, control, sampled);
    }).join();
    TRY(std::move(attached));
    return conclude(sampled, control);
}

}  // namespace shadowprof
