// The question of a worker that has come to a system call, and the supervisor's answer.
#pragma once

#include <cstdint>

#include "base/cpu_state.h"

namespace shadowprof {

// The guest has executed a `syscall` instruction. What the kernel reads has been brought to the
// process.
struct CallRequest {
    CpuState cpu;  // as the kernel would find it: `rip` is behind the instruction, RAX the number
    // Not 0: the process has all that the guest has written, so that others may read and write its
    // memory: a child, or a call of which nothing is known.
    std::uint64_t is_current = 0;
};

struct CallAnswer {
    enum class Kind : std::uint64_t {
        returned,  // the guest goes on behind the call
        left,      // the run ends: the process goes on elsewhere, or cannot be followed
        gone,      // the run ends, and its memory is no longer that of the process
    };
    Kind kind = Kind::returned;
    std::uint64_t rax = 0, fs_base = 0, gs_base = 0;
    // Size of the text of /proc/PID/maps in the mailbox; 0: the mappings are unchanged.
    std::uint64_t maps_bytes = 0;
    // Not 0: the run must end behind this call.
    std::uint64_t ends_run = 0;
    // The payload behind it: MemoryRanges that the kernel wrote besides what the call writes.
};

}  // namespace shadowprof
