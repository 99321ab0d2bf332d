// An observer that is asked before each instruction that accesses memory.
#pragma once

#include <optional>

#include "base/cpu_state.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/sample_end.h"

namespace shadowprof {

class AccessWatcher {
  public:
    virtual ~AccessWatcher() = default;
    // Called before the instruction at cpu.rip runs. General registers and segment bases are
    // current, vector registers are not. May fill in memory that the instruction is going to read
    // (GuestMemory::fill()). A result ends the run before the instruction.
    virtual std::optional<SampleEnd> on_access(const CpuState& cpu, GuestMemory& memory) = 0;
};

}  // namespace shadowprof
