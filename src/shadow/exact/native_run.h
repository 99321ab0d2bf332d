// The program on the hardware: from one place where it can be compared with its emulation to the
// next. Signals from outside that come on the way are held until such a place is reached, and are
// delivered there.
#pragma once

#include <sys/user.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ptrace/target/sleep_state.h"
#include "ptrace/target/target.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/stopped_thread.h"
#include "shadow/exact/kernel_writes.h"
#include "shadow/exact/trap_disposition.h"

namespace shadowprof {

// What happened to a program while it was led past a place.
struct Passage {
    KernelWrites writes;    // to its memory, by the kernel and by what ran natively
    bool jumped = false;    // it goes on elsewhere: in a signal handler, behind one
    bool executed = false;  // another program
    std::string blocked;    // if not empty: why the program can be followed no further
};

class NativeRun {
  public:
    // Both must outlive it. All members may answer ErrorCode::gone.
    NativeRun(Target& target, StoppedThread& thread, BreakpointKind breakpoints)
        : target_(target), thread_(thread), breakpoints_(breakpoints), traps_(target, thread) {}

    // Runs on until a system call is entered or an instruction faults. `expected`: which of these.
    struct Stop {
        enum class Kind : std::uint8_t { syscall, fault };
        Kind kind = Kind::syscall;
        GuestAddress address;  // of the faulting instruction
        int signal = 0;        // of the fault
    };
    // False: something else came first, and the thread stands there.
    Result<bool> run_to(const Stop& expected);
    // The same, until the thread's breakpoint is met.
    Result<bool> run_to(Breakpoint& breakpoint);
    // Sets one for the thread. Errors: those of Breakpoint::set(); unsupported where another
    // process would execute the INT3 that is put into the code.
    Result<Breakpoint> set_breakpoint(GuestAddress address);

    // From the entry of a system call to behind it; or with signals that are held, to their
    // handlers, behind which it is entered anew.
    Result<Passage> pass_syscall();
    // From the entry of a vDSO function to behind its return.
    Result<Passage> pass_vdso_call();
    // The instruction that the thread stands before; `registers_only`: it writes no memory.
    Result<Passage> pass_instruction(bool registers_only);
    // The fault that the thread stands at.
    Result<Passage> pass_fault();
    // Past whatever the thread stands at after run_to() was false, or after run_for().
    Result<Passage> pass_whatever();
    // Runs on for so long, but not past the entry of a system call or a fault: it may return before
    // the time is over.
    Result<void> run_for(std::chrono::nanoseconds time);
    // Delivers what is held to a thread that stands in user mode.
    Result<void> deliver_held(Passage& passage);

    // To be called where nothing more is asked of the thread: what a step or a breakpoint of ours
    // has raised is dropped, all other signals are delivered. It can be detached then. Errors:
    // gone; system.
    Result<void> release();

    // A signal waits for the thread that it does not block, or is held.
    Result<bool> has_signal() const;
    // Signals are held: pass_syscall() lets handlers run first, and the call is entered again.
    bool leaves_syscalls() const { return !held_.empty(); }
    // The thread stands behind an instruction that the program itself has single-stepped.
    Result<bool> at_foreign_step() const;
    // The program has asked for a signal after some processor time.
    bool awaits_processor_time() const { return awaits_processor_time_; }
    // A child that it bore without a copy of its memory lives, and may write there at any time.
    bool has_memory_sharer();
    std::uint64_t signals_held() const { return signals_held_; }

  private:
    using Advance = StoppedThread::Advance;

    Result<WaitStatus> advance(Advance how);
    Result<WaitStatus> step();
    Result<WaitStatus> advance_to(Breakpoint& breakpoint, Advance how);
    Result<bool> hold_if_from_outside();
    Result<std::uint64_t> finish_call(Passage& passage);
    Result<void> enter_call_again(Passage& passage);
    Result<Passage> leave_other_call(user_regs_struct before);
    Result<void> await_birth();
    Result<bool> is_synchronous() const;
    Result<void> hold();
    Result<bool> is_pending() const;
    Result<Passage> leave_syscall();
    void raise_held();
    Result<void> deliver_pending(Passage& passage);
    Result<void> deliver_one(Passage& passage);

    Target& target_;
    StoppedThread& thread_;
    const BreakpointKind breakpoints_;
    TrapDisposition traps_;
    bool own_trap_ = false;  // of the last advance
    std::optional<RestartedCall> restarted_;
    std::vector<siginfo_t> held_;
    std::uint64_t signals_held_ = 0;
    bool awaits_processor_time_ = false;
    std::vector<pid_t> memory_sharers_;
};

}  // namespace shadowprof
