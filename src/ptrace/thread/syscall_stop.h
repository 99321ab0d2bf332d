// The system call at whose entry or exit a thread stands.
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
    // At an entry.
    std::uint64_t number = 0;
    std::array<std::uint64_t, 6> arguments{};
    // At an exit: a value, -errno, or what only the kernel itself understands (see restarts()).
    std::int64_t result = 0;

    // At an exit: the call was interrupted and begins anew, unless a signal handler runs whose
    // flags do not ask for that. Then it fails with EINTR.
    bool restarts() const;
};

// Needs a thread in a syscall-stop. Errors: gone; unsupported (a call of another architecture, or a
// kernel before 5.3).
Result<SyscallStop> read_syscall_stop(const StoppedThread& thread);

}  // namespace shadowprof
