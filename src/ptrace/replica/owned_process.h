// A process that a target created for us. It is traced from its first moment, and killed when
// nobody owns it any more.
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

// PTRACE_O_... of each process. TRACECLONE lets it create others.
constexpr std::uint64_t owned_process_options =
    PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;

class OwnedProcess {
  public:
    // Makes a process by clone(2) with `flags` and CLONE_PTRACE. Call take_over() before anything
    // else. `zombies` is the list of the parent, or null if we are the parent. Errors: system: the
    // clone failed, with EAGAIN by a limit on processes, or ENOMEM; permission: it is forbidden.
    static Result<OwnedProcess> bear(RemoteSyscall& session, WaitHub& hub, std::uint64_t flags,
                                     Zombies zombies);

    OwnedProcess(OwnedProcess&& other) noexcept;
    OwnedProcess& operator=(OwnedProcess&&) = delete;
    // Kills the process. The hub reaps it during later waits; its parent's `zombies` then list it.
    ~OwnedProcess();

    // Waits until the process is in its first stop. From then on it dies with us. Errors: gone: it
    // has ended; system.
    Result<void> take_over();

    pid_t pid() const { return thread_.tid(); }
    // Not for an object that was moved from.
    WaitHub& hub() const { return *life_->hub; }
    // Needs take_over().
    StoppedThread& thread() { return thread_; }

    // Kills the process and waits for its end.
    void end();

    // Lets code that does not own the process end it.
    class Handle;
    // The handle may outlive the process.
    Handle handle() const;

  private:
    OwnedProcess(WaitHub& hub, pid_t pid, pid_t namespace_pid, Zombies zombies);

    struct Life {
        WaitHub* hub;
        pid_t pid;
        UniqueFd pidfd;  // so that the id cannot be another process's by the time of the kill
        pid_t namespace_pid;
        Zombies zombies;
        bool is_over = false;

        void kill() const;
        void end();
    };

    std::shared_ptr<Life> life_;  // null in an object that was moved from
    StoppedThread thread_;
};

class OwnedProcess::Handle {
  public:
    explicit Handle(std::weak_ptr<Life> life) : life_(std::move(life)) {}
    // Whether nobody owns the process any more.
    bool is_void() const { return life_.expired(); }
    // Same as OwnedProcess::end().
    void end() const;

  private:
    std::weak_ptr<Life> life_;
};

}  // namespace shadowprof
