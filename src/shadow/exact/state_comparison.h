// Compares two register states, byte by byte where no byte may differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_state.h"
#include "base/memory_reader.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {

// An interval after which emulation and hardware did not agree.
struct Divergence {
    std::uint64_t interval = 0;
    std::vector<std::string> differences;  // "rax: native 0x1, emulated 0x2", ...
};

// Returns one line for each register that differs. Not compared: the pointers to the last x87
// instruction and its operand, which are host addresses in one of the states, and bits of the XSAVE
// header that only say whether a component is in its initial state.
std::vector<std::string> differences(const CpuState& native, const CpuState& emulated);

// Returns one line for each difference in memory that a worker reports. `memory` is not to be
// trusted.
std::vector<std::string> differences(const ComparedMessage& memory);

// To be called at the start of a block. Copies flags from `native` to `emulated` that the block
// overwrites before it reads them, as an emulated state may have others.
void adopt_dead_flags(const CpuState& native, CpuState& emulated, MemoryReader& memory);

// Returns "rax 0x1 rcx 0x2 ...".
std::string general_registers(const CpuState& cpu);

}  // namespace shadowprof
