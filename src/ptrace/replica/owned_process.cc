#include "ptrace/replica/owned_process.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/urgency.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

Error fork_error(std::int64_t result) {
    const int error_number = static_cast<int>(-result);
    Error error = errno_error("fork a copy of the program", error_number);
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
    TRY_ASSIGN(const auto clone, session.clone(flags | CLONE_PTRACE));
    if (clone.child == 0) return fork_error(clone.result);
    return OwnedProcess(hub, clone.child, static_cast<pid_t>(clone.result), std::move(zombies));
}

OwnedProcess::OwnedProcess(WaitHub& hub, pid_t pid, pid_t namespace_pid, Zombies zombies)
    : life_(std::make_shared<Life>(
          Life{&hub, pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
               namespace_pid, std::move(zombies)})),
      thread_(hub, pid, WaitStatus::decode(0)) {}

OwnedProcess::OwnedProcess(OwnedProcess&& other) noexcept = default;

OwnedProcess::~OwnedProcess() {
    if (!life_ || life_->is_over) return;
    life_->kill();
    life_->hub->discard(life_->pid);
    if (life_->zombies) life_->zombies->push_back(life_->namespace_pid);
}

void OwnedProcess::end() {
    if (life_) life_->end();
}

OwnedProcess::Handle OwnedProcess::handle() const {
    return Handle(life_);
}

void OwnedProcess::Handle::end() const {
    if (const auto life = life_.lock()) life->end();
}

// Kernels before 5.3 have no pidfd_open(2).
void OwnedProcess::Life::kill() const {
    if (pidfd)
        static_cast<void>(::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0));
    else
        static_cast<void>(::kill(pid, SIGKILL));
}

void OwnedProcess::Life::end() {
    if (std::exchange(is_over, true)) return;
    kill();
    static_cast<void>(hub->reap(pid));
    if (zombies) zombies->push_back(namespace_pid);
}

Result<void> OwnedProcess::take_over() {
    const Urgency urgency(pid());
    TRY_ASSIGN(const WaitStatus status, hub().wait_for(pid()));
    if (!status.is_trap()) {
        if (status.is_end()) hub().put_back({pid(), status});
        return Error{ErrorCode::gone, ESRCH, fmt::format("the replica {}", status.describe())};
    }
    thread_ = StoppedThread(hub(), pid(), status);
    TRY(ptrace_call(PTRACE_SETOPTIONS, pid(), 0, owned_process_options,
                    "set the ptrace options of a forked copy"));
    return {};
}

}  // namespace shadowprof
