// A breakpoint that is in no memory: a debug register of one thread (Intel SDM vol. 3, 18.2).
#pragma once

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/stopped_thread.h"

namespace shadowprof {

// While it lives, the thread stops with SIGTRAP before it executes the instruction at `address`.
class HardwareBreakpoint {
  public:
    // Errors: gone; unsupported where the machine has no debug registers to give.
    static Result<HardwareBreakpoint> set(const StoppedThread& thread, GuestAddress address);

    HardwareBreakpoint(HardwareBreakpoint&& other) noexcept;
    HardwareBreakpoint& operator=(HardwareBreakpoint&&) = delete;
    // The thread must be stopped or gone.
    ~HardwareBreakpoint();

  private:
    explicit HardwareBreakpoint(pid_t tid) : tid_(tid) {}

    pid_t tid_;  // 0: moved from
};

}  // namespace shadowprof
