// System calls made by a stopped thread of the target on our behalf.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/forks.h"
#include "ptrace/stopped_thread.h"

namespace shadowprof {

// A session of injected calls. The thread executes nothing but one `syscall` instruction a call.
// The session itself writes nothing to the target's memory; a call may. When the session ends,
// every register including orig_rax and the signal mask is as before, and the thread stands in a
// trap again, where the kernel restarts an interrupted call as if nothing had happened. The kernel
// keeps the extended state over calls.
//
// Calls are run between their entry and exit stops, not single-stepped: a single-step raises a
// forced SIGTRAP, and that resets the target's own handler where it blocks or ignores SIGTRAP.
// Signals other than SIGKILL, SIGSTOP and SIGSYS wait until the session is over.
class RemoteSyscall {
  public:
    // `thread` must be in a trap. `instruction` must be a `syscall` instruction of its program.
    // `ptrace_options` are those of the thread; it may have them anew afterwards.
    // Errors: gone; unsupported: the thread cannot be borrowed just now (it is inside a
    // restartable sequence, or not in a trap); permission: nor ever (a seccomp filter that might
    // kill the target).
    static Result<RemoteSyscall> begin(
        StoppedThread& thread, GuestAddress instruction,
        std::uint64_t ptrace_options = target_ptrace_options(Forks::let_go));

    RemoteSyscall(RemoteSyscall&& other) noexcept;
    RemoteSyscall& operator=(RemoteSyscall&&) = delete;
    ~RemoteSyscall() { static_cast<void>(finish()); }

    using Limit = std::optional<std::chrono::milliseconds>;
    // Makes a call. The kernel's answer: a value, or -errno. One that may block needs a limit.
    // ErrorCode::permission if it does not stop within that: the thread is then still in the call
    // and cannot be restored, so its process must be ended.
    Result<std::int64_t> call(std::uint64_t number, std::array<std::uint64_t, 6> arguments = {},
                              Limit limit = std::nullopt);

    struct Clone {
        std::int64_t result =
            0;            // as the target sees it: the child in its pid namespace, or -errno
        pid_t child = 0;  // in ours; 0 if there is none
    };
    // clone(2) of a new process that is traced from its first moment, with rsp = `child_stack` and
    // no other register that points into memory. The child is left to the caller, stopped or about
    // to. `flags` must not contain CLONE_UNTRACED, CLONE_VFORK or an exit signal, and CLONE_VM only
    // if the child never runs.
    Result<Clone> clone(std::uint64_t flags, std::uint64_t child_stack);

    // Restores the thread. Nothing more to do for the destructor then.
    Result<void> finish();

  private:
    RemoteSyscall(StoppedThread& thread, GuestAddress instruction, const user_regs_struct& saved,
                  std::uint64_t saved_mask, std::uint64_t ptrace_options, bool seccomp_suspended)
        : thread_(&thread),
          instruction_(instruction),
          saved_(saved),
          saved_mask_(saved_mask),
          ptrace_options_(ptrace_options),
          seccomp_suspended_(seccomp_suspended) {}

    Result<void> enter(std::uint64_t number, const std::array<std::uint64_t, 6>& arguments);
    Result<WaitStatus> run_to_report(Limit limit = std::nullopt);
    Result<WaitStatus> advance(int signal, Limit limit);

    StoppedThread* thread_;  // null when the session is over
    GuestAddress instruction_;
    user_regs_struct saved_;
    std::uint64_t saved_mask_;
    std::uint64_t ptrace_options_;
    bool seccomp_suspended_;
};

}  // namespace shadowprof
