// Tells which memory of a program a system call writes to. Errs on the side of too much: memory
// that is named although nothing was written there only costs a little time.
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

// The call at whose entry a thread stands.
PassedSyscall entered_call(const user_regs_struct& registers);

struct KernelWrites {
    std::vector<MemoryRange> ranges;  // MemoryRange::all() for calls that are not known
    bool layout = false;              // the mappings may have changed
};

// To be called at the call's entry. Returns the memory that the call reads, as far as writes_of()
// needs it.
std::optional<std::vector<MemoryBytes>> needed_memory(const PassedSyscall& call,
                                                      MemoryReader& memory);
// To be called at the call's exit. `needed` is needed_memory() at its entry.
KernelWrites writes_of(const PassedSyscall& call,
                       const std::optional<std::vector<MemoryBytes>>& needed, MemoryReader& memory);

}  // namespace shadowprof
