// Which of a program's memory a system call writes to. Errs on the side of too much: memory that is
// named although nothing was written there costs a little time, no more.
#pragma once

#include <sys/user.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/memory_range.h"

namespace shadowprof {

struct PassedSyscall {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 6> arguments = {};
    std::uint64_t result = 0;  // a value, or -errno
};

// The call that a thread stands at the entry of.
PassedSyscall entered_call(const user_regs_struct& registers);

struct KernelWrites {
    std::vector<MemoryRange> ranges;  // MemoryRange::all() for calls that are not known
    bool layout = false;              // the list of mappings may be another
};

KernelWrites writes_of(const PassedSyscall& call);

// Whether memory that the program wrote to may be gone after a call, or be another program's. The
// result is not looked at.
bool hides_memory(const PassedSyscall& call);

}  // namespace shadowprof
