// System calls that a stopped thread of the target makes on our behalf.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/remote/forks.h"
#include "ptrace/remote/way_home.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// The value of registers that an injected call does not use. Page 0 is never mapped
// (vm.mmap_min_addr).
inline constexpr std::uint64_t unmapped_address = 8;

// A session of injected calls. The thread executes only one `syscall` instruction per call. The
// session writes nothing to the target's memory except a way home, though a call may. When the
// session ends, all registers including orig_rax and the signal mask are as before, and the thread
// is in a trap again, where the kernel restarts an interrupted call as if nothing had happened. The
// kernel keeps the extended state across calls.
//
// The thread runs between a call's entry and exit stops and is not single-stepped. A single-step
// raises a forced SIGTRAP, which resets the target's own handler if it blocks or ignores SIGTRAP.
// Signals other than SIGKILL, SIGSTOP and SIGSYS wait until the session is over.
class RemoteSyscall {
  public:
    // `thread` must be in a trap. `instruction` must be a `syscall` instruction of its program.
    // `ptrace_options` are the thread's options, which may be set again at the end. Errors: gone;
    // unsupported: the thread cannot be borrowed now (it is inside a restartable sequence, or not
    // in a trap); permission: it can never be borrowed (a seccomp filter might kill the target).
    static Result<RemoteSyscall> begin(
        StoppedThread& thread, GuestAddress instruction,
        std::uint64_t ptrace_options = target_ptrace_options(Forks::detach));

    // Like begin(), but with a way home if one can be laid with `return_code`: see
    // Target::borrow().
    static Result<RemoteSyscall> borrow(StoppedThread& thread, GuestAddress instruction,
                                        const std::optional<ReturnCode>& return_code,
                                        std::uint64_t ptrace_options);

    // Returns the threads of a stop in the order in which borrowing should be tried. Threads that
    // can have a way home come first.
    static std::vector<StoppedThread*> threads_to_borrow(std::span<StoppedThread> stopped);

    bool has_way_home() const { return way_home_.has_value(); }

    RemoteSyscall(RemoteSyscall&& other) noexcept;
    RemoteSyscall& operator=(RemoteSyscall&&) = delete;
    ~RemoteSyscall() { static_cast<void>(finish()); }

    using Limit = std::optional<std::chrono::milliseconds>;
    // Makes a call and returns its value or -errno. A call that may block needs a limit. If it does
    // not stop within the limit, the error is ErrorCode::permission: the thread is then still in
    // the call and cannot be restored, so its process must be ended.
    Result<std::int64_t> call(std::uint64_t number, std::array<std::uint64_t, 6> arguments = {},
                              Limit limit = std::nullopt);

    struct Clone {
        std::int64_t result = 0;  // child's id in the target's PID namespace, or -errno
        pid_t child = 0;          // id in our PID namespace; 0 if there is no child
    };
    // Makes a new process by clone(2), traced from its first moment. With a way home it has a stack
    // by which it exits if it is ever untraced. Without one it dies at its first use of the stack;
    // it runs no signal handler, since all signals are blocked. The caller must handle the child,
    // which is stopped or about to stop. `flags` must not contain CLONE_UNTRACED, CLONE_VFORK or an
    // exit signal, and may contain CLONE_VM only if the child never runs. Only one clone per
    // session is allowed.
    Result<Clone> clone(std::uint64_t flags);

    // Restores the thread. The destructor then does nothing.
    Result<void> finish();

  private:
    struct SyscallInstruction {
        GuestAddress instruction;
        std::optional<WayHome> way_home;
    };
    static Result<RemoteSyscall> begin_at(StoppedThread& thread, SyscallInstruction place,
                                          std::uint64_t ptrace_options);
    RemoteSyscall(StoppedThread& thread, SyscallInstruction place, const user_regs_struct& saved,
                  std::uint64_t saved_mask, std::uint64_t ptrace_options, bool seccomp_suspended)
        : thread_(&thread),
          instruction_(place.instruction),
          way_home_(std::move(place.way_home)),
          saved_(saved),
          saved_mask_(saved_mask),
          ptrace_options_(ptrace_options),
          seccomp_suspended_(seccomp_suspended) {}

    user_regs_struct for_call(std::uint64_t number,
                              const std::array<std::uint64_t, 6>& arguments) const;
    Result<void> enter(std::uint64_t number, const std::array<std::uint64_t, 6>& arguments);
    Result<WaitStatus> run_to_report(Limit limit = std::nullopt);
    Result<WaitStatus> advance(int signal, Limit limit);

    StoppedThread* thread_;  // null when the session is over
    GuestAddress instruction_;
    std::optional<WayHome> way_home_;
    user_regs_struct saved_;
    std::uint64_t saved_mask_;
    std::uint64_t ptrace_options_;
    bool seccomp_suspended_;
};

}  // namespace shadowprof
