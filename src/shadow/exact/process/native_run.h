// Runs the program on the hardware, from one place where it can be compared with its emulation to
// the next. Signals from outside that come on the way are held until such a place is reached, and
// are delivered there.
#pragma once

#include <sys/user.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ptrace/process/sleep_state.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/stopped_thread.h"
#include "shadow/exact/process/kernel_writes.h"
#include "shadow/exact/process/trap_disposition.h"

namespace shadowprof {

// What happened to a program while it was led past a place.
struct Passage {
    KernelWrites writes;  // to memory, by the kernel and by what ran natively
    // What the system call returned to the program, if it made one. Nothing if the call begins
    // again, and for rt_sigreturn(2).
    std::optional<std::uint64_t> result = {};
    bool jumped = false;    // it goes on elsewhere: in a signal handler, or after one
    bool executed = false;  // it executes another program
    pid_t born = 0;         // a thread that it has started, which has not stopped yet
    std::string blocked;    // if not empty: why the program can be followed no further
};

// The kernel's results for a call that is about to begin again (include/linux/errno.h): behind a
// handler that asks for it (ERESTARTSYS), or in a way that only the kernel knows
// (ERESTART_RESTARTBLOCK), and not behind a handler.
inline constexpr std::int64_t restart_after_handler = -512, restart_by_kernel = -516;

// The kernel's SIGRTMIN. The C library keeps the first two for itself.
inline constexpr int first_real_time_signal = 32;

class NativeRun {
  public:
    // `target` and `thread` must outlive it. All functions may return ErrorCode::gone.
    NativeRun(Target& target, StoppedThread& thread, BreakpointKind breakpoints)
        : target_(target), thread_(thread), breakpoints_(breakpoints), traps_(target, thread) {}

    // A stop that run_to() expects: the entry of a system call, or a fault.
    struct Stop {
        enum class Kind : std::uint8_t { syscall, fault };
        Kind kind = Kind::syscall;
        GuestAddress address;  // the faulting instruction's
        int signal = 0;        // the fault's signal
    };
    // Runs on until the expected stop. Returns false if something else came first; the thread
    // stands there.
    Result<bool> run_to(const Stop& expected);
    // The same, until the thread meets `breakpoint`.
    Result<bool> run_to(Breakpoint& breakpoint);
    // Sets a breakpoint for the thread. Errors: those of Breakpoint::set(); unsupported if another
    // process would execute the INT3 that is put into the code.
    Result<Breakpoint> set_breakpoint(GuestAddress address);

    struct CallManner {
        // Passage::writes says what the call wrote, and not only what signals did.
        bool names_writes = true;
        // If signals are held, the thread is led to their handlers instead, after which it enters
        // the call again. Otherwise they come while it is in the call.
        bool handlers_first = true;
        // A second thread can be followed, and a child: take_children() names it.
        bool follows_threads = false;
        bool follows_children = false;
        // An interrupted call that begins again is left to the caller, who makes it anew: the
        // thread then stands before it, and has `jumped`.
        bool restarts_outside = false;
    };
    // Leads the thread from the entry of a system call past it.
    Result<Passage> pass_syscall(const CallManner& manner);
    // The same in parts, for a thread that may sleep in the call while others go on. No signals may
    // be held if handlers come first. Whether the thread has come to the call's exit:
    // goes_to_exit() waits as long as the thread is awake and does not wait for a vfork's child,
    // and has_come_to_exit() not at all.
    Result<void> enter_syscall(const CallManner& manner);
    Result<bool> goes_to_exit();
    Result<bool> has_come_to_exit();
    Result<Passage> leave_syscall_behind();
    // The children that are traced since the last call, each of which stops before its first
    // instruction. One that was born by vfork may have to end, or to execute a program, before its
    // parent comes to the call's exit.
    struct Child {
        pid_t pid;
        bool by_vfork;
    };
    std::vector<Child> take_children() { return std::exchange(children_, {}); }
    // Whether the thread waits in a call for a child that vfork has borne.
    bool waits_for_child() const { return entered_.waits_for_child; }
    // Leads the thread from the entry of a vDSO function past its return.
    Result<Passage> pass_vdso_call();
    // Leads the thread past the instruction that it stands before. `registers_only`: it writes no
    // memory.
    Result<Passage> pass_instruction(bool registers_only);
    // Leads the thread past the fault that it stands at. `passage`: what has happened before.
    Result<Passage> pass_fault(Passage passage = {});
    // Leads the thread past whatever it stands at, after run_to() returned false or after
    // run_for().
    Result<Passage> pass_whatever();
    // Runs on for this time, but not past the entry of a system call or a fault, so it may return
    // before.
    Result<void> run_for(std::chrono::nanoseconds time);
    // Delivers held signals to the thread, which must stand in user mode.
    Result<void> deliver_held(Passage& passage);
    // The same for all signals that wait for it.
    Result<void> deliver_waiting(Passage& passage);

    // From now on the thread gets the extended state of `state` before it enters a signal handler,
    // as its own is out of date; null: its own is right. `state` must live as long.
    void enter_handlers_with(const CpuState* state) { true_state_ = state; }
    // Gives the thread that state now, if there is one.
    Result<void> make_state_true();

    // To be called when nothing more is asked of the thread, which can be detached afterwards.
    // Drops what a step or a breakpoint of ours has raised, and delivers all other signals. Errors:
    // gone; system.
    Result<void> release();

    // Whether a signal that the thread does not block waits for it, or is held.
    Result<bool> has_signal() const;
    // Whether the thread stands after an instruction that the program itself has single-stepped.
    Result<bool> at_foreign_step() const;
    // Has the thread get a signal, which it must not block, with those that are held.
    void hold(const siginfo_t& info);
    // Another thread may have changed what signals do.
    void forget_dispositions() { traps_.forget(); }
    // Whether the program has asked for a signal after some processor time.
    bool awaits_processor_time() const { return awaits_processor_time_; }
    // Whether a child lives that has the program's own memory, and so may write there at any time.
    bool has_memory_sharer();
    std::uint64_t signals_held() const { return signals_held_; }

  private:
    using Advance = StoppedThread::Advance;

    Result<WaitStatus> advance(Advance how);
    Result<WaitStatus> step();
    Result<WaitStatus> advance_to(Breakpoint& breakpoint, Advance how);
    Result<bool> hold_if_from_outside();
    Result<bool> take_stop_in_call();
    using CallResult = std::optional<std::uint64_t>;
    Result<CallResult> finish_call(Passage& passage);
    Result<CallResult> finish_call_outside(Passage& passage);
    CallResult result_of_call(const user_regs_struct& at_exit, const user_regs_struct& now,
                              const Passage& passage) const;
    Result<void> enter_call_again(Passage& passage);
    Result<Passage> leave_other_call(user_regs_struct before);
    Result<void> take_birth();
    Result<bool> is_synchronous() const;
    Result<void> hold();
    Result<bool> is_pending() const;
    Result<Passage> leave_syscall();
    bool has_ended_unreported() const;
    void raise_held();
    Result<void> deliver_pending(Passage& passage);
    Result<void> deliver_one(Passage& passage);

    Target& target_;
    StoppedThread& thread_;
    const BreakpointKind breakpoints_;
    TrapDisposition traps_;
    bool own_trap_ = false;  // the last advance ended by a trap of ours
    std::optional<RestartedCall> restarted_;
    std::vector<siginfo_t> held_;
    std::uint64_t signals_held_ = 0;
    std::uint64_t signals_delivered_ = 0;
    bool awaits_processor_time_ = false;
    std::vector<pid_t> memory_sharers_;
    std::vector<Child> children_;
    const CpuState* true_state_ = nullptr;
    // The system call that the thread is in.
    struct Entered {
        CallManner manner;
        PassedSyscall call;
        std::uint64_t behind_call = 0;                   // the address behind its instruction
        std::optional<std::vector<MemoryBytes>> needed;  // needed_memory()
        Passage passage;
        bool waits_for_child = false;  // by vfork
    };
    Entered entered_;
};

}  // namespace shadowprof
