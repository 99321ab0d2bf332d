// Times loads in the target, by a thread of it that stands still.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <span>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/process/scratch_memory.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// The code that ScratchMemory is injected with, and the size of its data.
std::span<const std::byte> timer_code();
inline constexpr std::size_t timer_data_bytes = 5 * page_bytes;

// The signals that a load may raise. The kernel takes the handlers of threads that block them, so
// they stay unblocked.
inline constexpr std::uint64_t load_signals = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1);

struct TimedLoad {
    std::uint64_t cycles = 0;   // ticks of the time-stamp counter, fences included
    std::byte first{}, last{};  // the bytes that were loaded
};

// Points a thread at the timing code, and in the end at where it was. Meanwhile the thread spins in
// the scratch memory, whose mailbox takes the questions. There is no stop and no system call
// between two loads, as they would cost more than the loads do, and evict what is to be timed.
//
// The thread needs nobody to come back: unless it is stopped before, the code ends by itself after
// twice the limit, through rt_sigreturn(2) with a frame that has all registers and the signal mask.
// Signals wait until the session is over, except those that a bad load raises, which are not for
// the target. If somebody else sends one of these, it is left in the thread's status, to be
// delivered when the thread is resumed.
class LoadTimer {
  public:
    // `thread` must be in a trap, in user mode, and must not ignore SIGSEGV and SIGBUS, as the
    // kernel stops ignoring them when a load raises them. `memory` must be in the target. Errors:
    // gone; unsupported: the thread cannot be borrowed just now.
    static Result<LoadTimer> begin(StoppedThread& thread, ScratchMemory& memory,
                                   std::chrono::nanoseconds limit);
    LoadTimer(LoadTimer&& other) noexcept;
    LoadTimer& operator=(LoadTimer&&) = delete;
    ~LoadTimer() { static_cast<void>(finish()); }

    // Times a load of the bytes from `first` to `last`, which are on the same cache line or on two
    // adjacent ones. Returns nothing if it faults. Error `interrupted`: no answer came by `until`.
    Result<std::optional<TimedLoad>> time(GuestAddress first, GuestAddress last,
                                          std::chrono::steady_clock::time_point until);
    // Stops the thread and restores it.
    Result<void> finish();

  private:
    LoadTimer(StoppedThread& thread, ScratchMemory& memory, const user_regs_struct& saved,
              std::uint64_t saved_mask)
        : thread_(&thread), memory_(&memory), saved_(saved), saved_mask_(saved_mask) {}

    Result<void> set_off(std::chrono::nanoseconds limit);
    Result<void> set_off_again();
    Result<void> point_at_timer();
    Result<void> run();
    Result<bool> stopped_by_fault();
    Result<bool> is_in_timer() const;
    std::uint64_t& word(std::size_t offset) const;

    StoppedThread* thread_;  // null when the session is over
    ScratchMemory* memory_;
    user_regs_struct saved_;
    std::uint64_t saved_mask_;
    std::uint64_t question_ = 0;
    std::uint64_t deadline_tsc_ = 0;
    bool runs_ = false;
};

// Ticks of the time-stamp counter per nanosecond of this machine's clock. Measured once, which
// takes about a millisecond.
double tsc_per_ns();

// An answer that takes longer waited for a processor. Somebody else ran on the program's processor
// meanwhile, so the caches were not as the program had left them.
inline constexpr std::chrono::microseconds longest_answer{50};

}  // namespace shadowprof
