// How a borrowed thread continues if the tracer dies meanwhile.
//
// A thread of the target that makes a call for us has our registers. When the tracer dies, even by
// SIGKILL, the kernel lets the thread continue with them. So the way home consists of frames of
// rt_sigreturn(2) below its stack, to which the RET behind the call leads. In the first frame the
// thread waits for the end of a process that the call may have created. The last frame restores its
// own registers and signal mask.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/cpu_state.h"
#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/memory_map.h"
#include "base/result.h"
#include "ptrace/remote/syscall_site.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

class WayHome {
  public:
    // Writes the frames below the part of the stack that `thread` uses. It must be a stack that the
    // kernel or the C library made: below the stack pointer of a coroutine there may be anything.
    // Errors: gone; unsupported: there is no such stack, or no room; the thread has a shadow stack,
    // or more state than fits a frame.
    static Result<WayHome> lay(const StoppedThread& thread, const ReturnCode& code);

    // Whether lay() would find a stack. `map` must be of the thread's process.
    static bool finds_stack(const StoppedThread& thread, const MemoryMap& map);

    WayHome(WayHome&& other) noexcept;
    WayHome& operator=(WayHome&&) = delete;
    // Restores the bytes of the stack. The thread must have its own registers again, or be gone.
    ~WayHome();

    // For a call with this way home: rip, and rsp before each call.
    GuestAddress call() const { return call_; }
    GuestAddress return_instruction() const { return call_ + syscall_instruction_bytes; }
    GuestAddress stack() const;

    // The stack pointer for a process that the call creates. If the process is ever untraced, it
    // exits.
    GuestAddress child_stack() const;
    // Where the id of that process must be written, an int, as the target sees it. The thread waits
    // for the end of this process.
    GuestAddress child_id() const;

  private:
    WayHome(UniqueFd memory, GuestAddress start, GuestAddress call, std::vector<std::byte> before)
        : memory_(std::move(memory)), start_(start), call_(call), before_(std::move(before)) {}

    UniqueFd memory_;  // none in an object that was moved from
    GuestAddress start_;
    GuestAddress call_;
    std::vector<std::byte> before_;
};

}  // namespace shadowprof
