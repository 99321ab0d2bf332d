// What leads a borrowed thread back if the tracer dies meanwhile.
//
// A thread of the target that makes a call for us has our registers. When the tracer dies, even by
// SIGKILL, the kernel lets the thread go on as it is. So its stack pointer leads, over the RET
// behind the call and frames of rt_sigreturn(2) below its own stack, back to its own registers and
// signal mask, and on the way past the end of the process that the call may have borne.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/stopped_thread.h"
#include "ptrace/syscall_site.h"

namespace shadowprof {

class WayHome {
  public:
    static constexpr std::uint64_t syscall_instruction_bytes = 2;

    // Writes the frames below what `thread` uses of its stack, where that is
    // a stack as the kernel or the C library makes it: whatever else is below a stack pointer may
    // be in use. Errors: gone; unsupported: there is no such stack, or no room; it keeps a shadow
    // stack, or has more state than a frame.
    static Result<WayHome> lay(const StoppedThread& thread, const ReturnCode& code);

    WayHome(WayHome&& other) noexcept;
    WayHome& operator=(WayHome&&) = delete;
    // The stack has its bytes back. The thread must be home, or gone.
    ~WayHome();

    // For a call on the way: rip, and rsp before each call.
    GuestAddress call() const { return call_; }
    GuestAddress return_instruction() const { return call_ + syscall_instruction_bytes; }
    GuestAddress stack() const;

    // Of a process that is borne on the way: its stack pointer, by which it exits; and where its id
    // must stand, an int, as the target sees it: the thread waits for its end.
    GuestAddress child_stack() const;
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
