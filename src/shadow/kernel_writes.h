// Which of a program's memory a system call writes to. Errs on the side of too much: memory that is
// named although nothing was written there costs a little time, no more.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "emu/emulator.h"

namespace shadowprof {

struct PassedSyscall {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 6> arguments = {};
    std::uint64_t result = 0;  // a value, or -errno
};

struct KernelWrites {
    std::vector<MemoryRange> ranges;  // MemoryRange::all() for calls that are not known
    bool layout = false;              // the list of mappings may be another
};

KernelWrites writes_of(const PassedSyscall& call);

}  // namespace shadowprof
