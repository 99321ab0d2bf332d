// Who is asked before each instruction that accesses memory.
#pragma once

#include <optional>

#include "base/cpu_state.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/sample_end.h"

namespace shadowprof {

class AccessWatcher {
  public:
    virtual ~AccessWatcher() = default;
    // The instruction at cpu.rip is about to run; general registers and segment bases are as it
    // finds them, vector registers are not. May fill in what it is going to read
    // (GuestMemory::fill). An answer ends the run before it.
    virtual std::optional<SampleEnd> on_access(const CpuState& cpu, GuestMemory& memory) = 0;
};

}  // namespace shadowprof
