// A stopped thread, which all code that reads or changes a thread's registers needs.
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

// The registers of a thread at a stop.
struct ThreadSnapshot {
    pid_t tid = 0;
    CpuState cpu;
    // The system call that the thread waits in or is about to restart. SYS_restart_syscall stands
    // for a call with a time-out that was interrupted before.
    std::optional<std::uint64_t> blocked_syscall;
};

// Every function may return ErrorCode::gone: a stopped thread can be killed.
class StoppedThread {
  public:
    enum class Advance : std::uint8_t {
        run,         // until a signal, an event or an interruption
        to_syscall,  // like run, but also stops at the next entry to or exit from a system call
        one_instruction,  // the instruction at rip; a system call is reported but not executed
    };

    // `status` is the stop that `hub` has reported for `tid`.
    StoppedThread(WaitHub& hub, pid_t tid, WaitStatus status)
        : hub_(&hub), tid_(tid), status_(status) {}

    pid_t tid() const { return tid_; }
    const WaitStatus& status() const { return status_; }

    Result<user_regs_struct> registers() const;
    Result<void> set_registers(const user_regs_struct& registers);
    // Reads the extended state as NT_X86_XSTATE. Returns the part of `buffer` that it fills.
    Result<std::span<std::byte>> extended_state(std::span<std::byte> buffer) const;
    Result<void> set_extended_state(std::span<const std::byte> regset);

    Result<ThreadSnapshot> snapshot() const;
    // Writes the general registers and the components that a CpuState has. Afterwards the thread is
    // in no system call that could be restarted.
    Result<void> set_cpu_state(const CpuState& cpu);

    // The blocked signals, as the kernel's 64-bit set.
    Result<std::uint64_t> signal_mask() const;
    Result<void> set_signal_mask(std::uint64_t mask);
    // Whether a signal is pending for the thread or its process, blocked or not.
    Result<bool> has_queued_signal() const;
    // Needs a thread in a signal stop.
    Result<siginfo_t> signal_info() const;
    // Sets the information that the program gets if the signal is delivered. Needs a thread in a
    // signal stop.
    Result<void> set_signal_info(const siginfo_t& info);
    // Returns details of the event, such as the new thread's id. Needs a thread in an event stop.
    Result<std::uint64_t> event_message() const;

    // Runs the thread to its next stop and waits for that, without a limit. `signal` (0: none) is
    // delivered if the thread is in a signal stop. If the thread ends, the status goes back to the
    // hub and the result is ErrorCode::gone.
    Result<WaitStatus> advance(Advance how, int signal = 0);

    // Lets the thread run without waiting for its next stop. Until has_stopped(), await_stop() or
    // halt() has reported a stop, no other function may be called. `signal`: as for advance().
    Result<void> set_off(Advance how = Advance::run, int signal = 0);
    // Waits for the stop, without a limit. Otherwise as advance().
    Result<WaitStatus> await_stop();
    // Whether it has stopped. Waits for that up to `wait`, or not at all if `wait` is not positive.
    Result<bool> has_stopped(std::chrono::nanoseconds wait = {});
    // Interrupts the thread and waits for the stop.
    Result<void> halt();

    // Brings the thread from any kind of stop to a trap (see WaitStatus::is_trap) without executing
    // an instruction in user mode. A current system call ends or is interrupted. The signal of a
    // signal stop is delivered, or dropped by `own` if we caused it.
    enum class OwnSignal : std::uint8_t { delivered, dropped };
    Result<void> settle(OwnSignal own = OwnSignal::delivered);

    // Resumes the thread. `signal` is delivered if it is in a signal stop. A group stop stays one.
    // `how`: run or to_syscall.
    Result<void> resume(int signal = 0, Advance how = Advance::run);
    // Resumes the thread and ends the tracing.
    Result<void> detach(int signal = 0);

  private:
    Result<void> take(const WaitStatus& status);

    WaitHub* hub_;
    pid_t tid_;
    WaitStatus status_;
};

}  // namespace shadowprof
