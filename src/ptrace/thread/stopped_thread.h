// A thread that stands still: the precondition of everything that looks at a thread's registers or
// changes them.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/cpu_state.h"
#include "base/result.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

// A thread's registers at a stop.
struct ThreadSnapshot {
    pid_t tid = 0;
    CpuState cpu;
    // The thread waits in this system call, or is about to restart it. SYS_restart_syscall stands
    // for a call with a time-out that was interrupted before.
    std::optional<std::uint64_t> blocked_syscall;
};

// Any member may answer ErrorCode::gone: a stopped thread can be killed.
class StoppedThread {
  public:
    enum class Advance : std::uint8_t {
        run,              // until a signal, an event or an interruption
        to_syscall,       // and also to the next entry to or exit from a system call
        one_instruction,  // the instruction at rip; a system call is not executed but reported
    };

    // `status` is the stop that `hub` reported for `tid`.
    StoppedThread(WaitHub& hub, pid_t tid, WaitStatus status)
        : hub_(&hub), tid_(tid), status_(status) {}

    pid_t tid() const { return tid_; }
    const WaitStatus& status() const { return status_; }

    Result<user_regs_struct> registers() const;
    Result<void> set_registers(const user_regs_struct& registers);
    // The extended state as NT_X86_XSTATE; the part of `buffer` that it fills.
    Result<std::span<std::byte>> extended_state(std::span<std::byte> buffer) const;
    Result<void> set_extended_state(std::span<const std::byte> regset);

    Result<ThreadSnapshot> snapshot() const;
    // Writes the general registers and the components that a CpuState has. The thread is then in no
    // system call that could restart.
    Result<void> set_cpu_state(const CpuState& cpu);

    // The blocked signals, as the kernel's 64-bit set.
    Result<std::uint64_t> signal_mask() const;
    Result<void> set_signal_mask(std::uint64_t mask);
    // A signal waits for the thread or for its process, blocked or not.
    Result<bool> has_queued_signal() const;
    // Needs a thread in a signal stop.
    Result<siginfo_t> signal_info() const;
    // Sets what the program is told about the signal if it is delivered. Needs a thread in a signal
    // stop.
    Result<void> set_signal_info(const siginfo_t& info);
    // Tells more of the event: the new thread's id, ... Needs a thread in an event stop.
    Result<std::uint64_t> event_message() const;

    // Lets the thread run to its next stop, delivering `signal` (0: none) if it is in a signal
    // stop, and waits for it, however long that takes. The end of the thread is given back to the
    // hub and answered with ErrorCode::gone.
    Result<WaitStatus> advance(Advance how, int signal = 0);

    // Lets the thread run without waiting for what stops it next: has_stopped() tells, or halt()
    // stops it. Until one of them has, nothing else may be asked of it. `signal`: as for advance().
    Result<void> set_off(Advance how = Advance::run, int signal = 0);
    // Whether it has stopped; waits up to `wait` for it, not at all if that is not positive.
    Result<bool> has_stopped(std::chrono::nanoseconds wait = {});
    // Interrupts it and waits.
    Result<void> halt();

    // Brings the thread from any kind of stop to a trap (see WaitStatus::is_trap) without one
    // instruction executed in user mode: a system call under way ends or is interrupted, a signal
    // of the thread's own is delivered, or dropped where it is one that we caused.
    enum class OwnSignal : std::uint8_t { delivered, dropped };
    Result<void> settle(OwnSignal own = OwnSignal::delivered);

    // Lets the thread go. `signal` is delivered if it is in a signal stop. A group stop stays one.
    // `how`: run or to_syscall.
    Result<void> resume(int signal = 0, Advance how = Advance::run);
    // Also ends the tracing.
    Result<void> detach(int signal = 0);

  private:
    Result<void> take(const WaitStatus& status);

    WaitHub* hub_;
    pid_t tid_;
    WaitStatus status_;
};

}  // namespace shadowprof
