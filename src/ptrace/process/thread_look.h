// Where a thread is at a moment: Target::look().
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/cpu_state.h"

namespace shadowprof {

struct ThreadLook {
    // Without the extended state. Nothing if the thread did not stop by Target::longest_look.
    std::optional<CpuState> cpu;
    // The system call in which it is. Then cpu->rip is behind the SYSCALL instruction.
    std::optional<std::uint64_t> system_call;
    std::chrono::nanoseconds pause{0};  // how long it stood still, until it was let go
};

}  // namespace shadowprof
