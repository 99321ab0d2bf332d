// System calls made by a stopped thread of the target on our behalf.
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

// In the registers of a thread in our place that are of no use for its call. Page 0 is never mapped
// (vm.mmap_min_addr).
inline constexpr std::uint64_t unmapped_address = 8;

// A session of injected calls. The thread executes nothing but one `syscall` instruction a call.
// The session itself writes nothing to the target's memory but a way home; a call may. When the
// session ends, every register including orig_rax and the signal mask is as before, and the thread
// stands in a trap again, where the kernel restarts an interrupted call as if nothing had happened.
// The kernel keeps the extended state over calls.
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
        std::uint64_t ptrace_options = target_ptrace_options(Forks::detach));

    // The same on a way home, where one can be laid through `return_code`: see Target::borrow().
    static Result<RemoteSyscall> borrow(StoppedThread& thread, GuestAddress instruction,
                                        const std::optional<ReturnCode>& return_code,
                                        std::uint64_t ptrace_options);

    // The threads of a stop, in the order in which borrowing should be tried: those with a way home
    // first.
    static std::vector<StoppedThread*> threads_to_borrow(std::span<StoppedThread> stopped);

    bool has_way_home() const { return way_home_.has_value(); }

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
    // clone(2) of a new process that is traced from its first moment. On a way home it has
    // a stack by which it exits if it gets loose; without, it dies at its first use of the stack,
    // and since it has all signals blocked, without running a handler. The child is left to the
    // caller, stopped or about to. `flags` must not contain CLONE_UNTRACED, CLONE_VFORK or an exit
    // signal, and CLONE_VM only if the child never runs. One clone a session.
    Result<Clone> clone(std::uint64_t flags);

    // Restores the thread. Nothing more to do for the destructor then.
    Result<void> finish();

  private:
    struct Place {
        GuestAddress instruction;
        std::optional<WayHome> way_home;
    };
    static Result<RemoteSyscall> begin_at(StoppedThread& thread, Place place,
                                          std::uint64_t ptrace_options);
    RemoteSyscall(StoppedThread& thread, Place place, const user_regs_struct& saved,
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
