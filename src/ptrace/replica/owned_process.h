// A process that we had a target bear: traced from its first moment, killed when nobody owns it any
// more.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/files/fd.h"
#include "base/result.h"
#include "ptrace/remote/remote_syscall.h"
#include "ptrace/remote/zombies.h"
#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/stopped_thread.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

// PTRACE_O_... of each. TRACECLONE: it may bear others.
constexpr std::uint64_t owned_process_options =
    PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;

class OwnedProcess {
  public:
    // Makes a process by clone(2) with `flags` and CLONE_PTRACE. `zombies`: the list of its parent;
    // null if we are its parent. Call take_over() first.
    // Errors: system, where the clone failed: EAGAIN by a limit on processes, ENOMEM; permission,
    // where it is forbidden.
    static Result<OwnedProcess> bear(RemoteSyscall& session, WaitHub& hub, std::uint64_t flags,
                                     Zombies zombies);

    OwnedProcess(OwnedProcess&& other) noexcept;
    OwnedProcess& operator=(OwnedProcess&&) = delete;
    // Kills it. The hub reaps it in passing; its parent finds it in `zombies`.
    ~OwnedProcess();

    // Waits until it stands in its first stop. From then on it dies with us. Errors: gone: it has
    // ended; system.
    Result<void> take_over();

    pid_t pid() const { return thread_.tid(); }
    // Not of one that was moved from.
    WaitHub& hub() const { return *life_->hub; }
    // Needs take_over().
    StoppedThread& thread() { return thread_; }

    // Kills it and waits for its end.
    void end();

    // Lets a non-owner end it.
    class Handle;
    // May outlive the process.
    Handle handle() const;

  private:
    OwnedProcess(WaitHub& hub, pid_t pid, pid_t namespace_pid, Zombies zombies);

    struct Life {
        WaitHub* hub;
        pid_t pid;
        UniqueFd pidfd;  // somebody else may kill it, and its id be given to another
        pid_t namespace_pid;
        Zombies zombies;
        bool is_over = false;

        void kill() const;
        void end();
    };

    std::shared_ptr<Life> life_;  // null: moved from
    StoppedThread thread_;
};

class OwnedProcess::Handle {
  public:
    explicit Handle(std::weak_ptr<Life> life) : life_(std::move(life)) {}
    // It is not owned any more.
    bool is_void() const { return life_.expired(); }
    // As OwnedProcess::end().
    void end() const;

  private:
    std::weak_ptr<Life> life_;
};

}  // namespace shadowprof
