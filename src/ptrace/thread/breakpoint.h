// Runs a thread to an instruction, or past one.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

enum class BreakpointKind : std::uint8_t {
    debug_register,  // changes no memory (Intel SDM vol. 3, 18.2)
    instruction,     // INT3 in the program's code while the thread runs
};

// Tries with a child of this process whether debug registers work. Some virtual machines accept
// them but never stop at them.
BreakpointKind measure_breakpoint_kind(WaitHub& hub);

// How a thread stopped.
struct LedStop {
    WaitStatus status;
    bool is_there = false;  // whether it reached the instruction, rather than another stop
};

// Executes the next instruction of the thread, or one repetition of a repeated one. A system call
// is not executed but reported. Hypervisors emulate CPUID, and some raise the trap an instruction
// too late behind it, so a breakpoint in the code is used there. Error: gone.
Result<LedStop> step(StoppedThread& thread);

// During its lifetime, the thread can be run to `address`.
class Breakpoint {
  public:
    // `thread` must outlive it. Errors: gone; unsupported: no debug register is available.
    static Result<Breakpoint> set(StoppedThread& thread, GuestAddress address, BreakpointKind kind);

    Breakpoint(Breakpoint&& other) noexcept;
    Breakpoint& operator=(Breakpoint&&) = delete;
    // Needs a thread that is stopped or gone.
    ~Breakpoint();

    // Runs the thread until it reaches the address or something else stops it. A thread that is at
    // the address at the first call has reached it. No other thread may execute there meanwhile.
    // `how`: run or to_syscall; a system call instruction at the address itself is always reported.
    // After about `most`, the thread is halted, and has not reached the address. Errors: gone;
    // system: the code cannot be written to.
    static constexpr auto unlimited = std::chrono::nanoseconds::max();
    Result<LedStop> advance(StoppedThread::Advance how, std::chrono::nanoseconds most = unlimited);

  private:
    Breakpoint(StoppedThread& thread, GuestAddress address, BreakpointKind kind)
        : thread_(&thread), address_(address), kind_(kind) {}

    struct Passed {
        LedStop stop;
        bool goes_on = false;  // the instruction was executed, and nothing else stopped the thread
    };
    Result<Passed> pass(std::chrono::nanoseconds most);

    StoppedThread* thread_;  // null in an object that was moved from
    GuestAddress address_;
    BreakpointKind kind_;
    bool was_advanced_ = false;
};

}  // namespace shadowprof
