// Which of a program's memory a system call writes to. Errs on the side of too much: memory that is
// named although nothing was written there costs a little time, no more.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_range.h"
#include "base/memory_reader.h"
#include "syscalls/call_memory.h"

namespace shadowprof {

struct PassedSyscall {
    std::uint64_t number = 0;
    CallArguments arguments = {};
    std::uint64_t result = 0;  // a value, or -errno
};

// The call that a thread stands at the entry of.
PassedSyscall entered_call(const user_regs_struct& registers);

struct KernelWrites {
    std::vector<MemoryRange> ranges;  // MemoryRange::all() for calls that are not known
    bool layout = false;              // the list of mappings may be another
};

// The memory that the call reads, as far as writes_of() needs it; at its entry.
std::optional<std::vector<MemoryBytes>> needed_memory(const PassedSyscall& call,
                                                      MemoryReader& memory);
// At its exit. `needed` is from its entry.
KernelWrites writes_of(const PassedSyscall& call,
                       const std::optional<std::vector<MemoryBytes>>& needed, MemoryReader& memory);

// Whether memory that the program wrote to may be gone after a call, or be another program's. The
// result is not looked at.
bool hides_memory(const PassedSyscall& call);

}  // namespace shadowprof
