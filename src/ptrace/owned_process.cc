#include "ptrace/owned_process.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "ptrace/proc.h"
#include "ptrace/ptrace_call.h"

namespace shadowprof {
namespace {

Error fork_error(std::int64_t result) {
    const int error_number = static_cast<int>(-result);
    Error error = errno_error("fork a replica of the target", error_number);
    if (error_number == EAGAIN)
        error.message +=
            " (a limit on the number of processes: ulimit -u, or pids.max of its cgroup)";
    if (error_number == EPERM || error_number == ENOSYS) {
        error.code = ErrorCode::permission;
        error.message += " (forbidden, probably by a seccomp filter)";
    }
    return error;
}

}  // namespace

Result<OwnedProcess> OwnedProcess::bear(RemoteSyscall& session, WaitHub& hub, std::uint64_t flags,
                                        Zombies zombies) {
    TRY_ASSIGN(const auto clone, session.clone(flags | CLONE_PTRACE, no_stack));
    if (clone.child == 0) return fork_error(clone.result);
    return OwnedProcess(hub, clone.child, static_cast<pid_t>(clone.result), std::move(zombies));
}

OwnedProcess::OwnedProcess(WaitHub& hub, pid_t pid, pid_t namespace_pid, Zombies zombies)
    : hub_(&hub),
      namespace_pid_(namespace_pid),
      zombies_(std::move(zombies)),
      thread_(hub, pid, WaitStatus::decode(0)) {}

OwnedProcess::OwnedProcess(OwnedProcess&& other) noexcept
    : hub_(std::exchange(other.hub_, nullptr)),
      namespace_pid_(other.namespace_pid_),
      zombies_(std::move(other.zombies_)),
      thread_(other.thread_) {}

OwnedProcess::~OwnedProcess() {
    if (!hub_) return;
    ::kill(pid(), SIGKILL);
    hub_->discard(pid());
    if (zombies_) zombies_->push_back(namespace_pid_);
}

void OwnedProcess::end() {
    WaitHub* const hub = std::exchange(hub_, nullptr);
    if (!hub) return;
    ::kill(pid(), SIGKILL);
    static_cast<void>(hub->reap(pid()));
    if (zombies_) zombies_->push_back(namespace_pid_);
}

Result<void> OwnedProcess::take_over() {
    TRY_ASSIGN(const WaitStatus status, hub_->wait_for(pid()));
    if (!status.is_trap()) {
        if (status.is_end()) hub_->put_back({pid(), status});
        return Error{ErrorCode::gone, ESRCH, fmt::format("the replica {}", status.describe())};
    }
    thread_ = StoppedThread(*hub_, pid(), status);
    TRY(ptrace_call(PTRACE_SETOPTIONS, pid(), 0, owned_process_options,
                    "set the options of a replica"));
    return {};
}

}  // namespace shadowprof
