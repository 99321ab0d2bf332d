// How a borrowed thread gets back if the tracer dies meanwhile.
//
// A thread of the target that makes a call for us has our registers. When the tracer dies, even by
// SIGKILL, the kernel lets the thread go on as it is. So we put frames of rt_sigreturn(2) below its
// stack, to which the RET behind the call leads. The first lets it wait for the end of the process
// that the call may have borne. The last gives it its own registers and signal mask back.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/memory_map.h"
#include "base/result.h"
#include "ptrace/remote/syscall_site.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

class WayHome {
  public:
    static constexpr std::uint64_t syscall_instruction_bytes = 2;

    // Writes the frames below what `thread` uses of its stack. It must be a stack as the kernel or
    // the C library makes it: below the stack pointer of a coroutine there may be anything. Errors:
    // gone; unsupported: there is no such stack, or no room; the thread has a shadow stack, or more
    // state than a frame has room for.
    static Result<WayHome> lay(const StoppedThread& thread, const ReturnCode& code);

    // A stack for lay() is there. `map` must be of the thread's process.
    static bool finds_stack(const StoppedThread& thread, const MemoryMap& map);

    WayHome(WayHome&& other) noexcept;
    WayHome& operator=(WayHome&&) = delete;
    // The stack has its bytes back. The thread must be home, or gone.
    ~WayHome();

    // For a call on the way: rip, and rsp before each call.
    GuestAddress call() const { return call_; }
    GuestAddress return_instruction() const { return call_ + syscall_instruction_bytes; }
    GuestAddress stack() const;

    // The stack pointer of a process that is borne on the way: if it gets loose it exits.
    GuestAddress child_stack() const;
    // Where the id of that process must stand, an int, as the target sees it: the thread waits for
    // its end.
    GuestAddress child_id() const;

  private:
    WayHome(UniqueFd memory, GuestAddress start, GuestAddress call, std::vector<std::byte> before)
        : memory_(std::move(memory)), start_(start), call_(call), before_(std::move(before)) {}

    UniqueFd memory_;  // moved from: none
    GuestAddress start_;
    GuestAddress call_;
    std::vector<std::byte> before_;
};

}  // namespace shadowprof
