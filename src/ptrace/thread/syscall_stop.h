// The system call at whose entry or exit a thread is stopped.
#pragma once

#include <array>
#include <cstdint>

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

struct SyscallStop {
    bool is_entry = false;
    GuestAddress instruction_end;  // rip: behind the `syscall` instruction
    GuestAddress stack;            // rsp
    // Set at an entry.
    std::uint64_t number = 0;
    std::array<std::uint64_t, 6> arguments{};
    // Set at an exit: a value, -errno, or a code of the kernel's own (see restarts()).
    std::int64_t result = 0;

    // Whether, at an exit, the call was interrupted and is restarted. If a signal handler without
    // that flag runs, the call fails with EINTR instead.
    bool restarts() const;
};

// Needs a thread in a syscall-stop. Errors: gone; unsupported (a call of another architecture, or a
// kernel before 5.3).
Result<SyscallStop> read_syscall_stop(const StoppedThread& thread);

}  // namespace shadowprof
