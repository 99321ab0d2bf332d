// Leads a thread to an instruction, or past one.
#pragma once

#include <cstdint>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

enum class BreakpointKind : std::uint8_t {
    debug_register,  // in no memory (Intel SDM vol. 3, 18.2)
    instruction,     // INT3 in the program's code, as long as the thread runs
};

// Tries with a child of this process whether debug registers work. Some virtual machines accept
// them and never stop for them.
BreakpointKind measure_breakpoint_kind(WaitHub& hub);

// How a thread stopped.
struct LedStop {
    WaitStatus status;
    bool is_there = false;  // where it was led to; else something came first
};

// Executes the instruction that the thread stands before, of a repeated one a single repetition. A
// system call is not executed but reported. Hypervisors emulate CPUID, and behind it some raise the
// trap an instruction too late: a breakpoint in the code takes its place. Error: gone.
Result<LedStop> step(StoppedThread& thread);

// While it lives, the thread can be led to `address`.
class Breakpoint {
  public:
    // `thread` must outlive it. Errors: gone; unsupported where there is no debug register to give.
    static Result<Breakpoint> set(StoppedThread& thread, GuestAddress address, BreakpointKind kind);

    Breakpoint(Breakpoint&& other) noexcept;
    Breakpoint& operator=(Breakpoint&&) = delete;
    // The thread must be stopped or gone.
    ~Breakpoint();

    // Lets the thread run until it comes to the address, or something else stops it. A thread that
    // stood there when the breakpoint was set has come there the first time. No other thread may
    // execute there meanwhile. `how`: run or to_syscall; a system call instruction at the address
    // itself is always reported. Errors: gone; system where the code cannot be written to.
    Result<LedStop> advance(StoppedThread::Advance how);

  private:
    Breakpoint(StoppedThread& thread, GuestAddress address, BreakpointKind kind)
        : thread_(&thread), address_(address), kind_(kind) {}

    struct Passed {
        LedStop stop;
        bool goes_on = false;  // the instruction is executed, and nothing else has come
    };
    Result<Passed> pass();

    StoppedThread* thread_;  // null: moved from
    GuestAddress address_;
    BreakpointKind kind_;
    bool was_advanced_ = false;
};

}  // namespace shadowprof
