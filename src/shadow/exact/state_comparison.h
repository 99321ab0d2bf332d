// Comparing two register states, byte by byte where no byte may differ.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_state.h"
#include "base/memory_reader.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {

// One line for each register that differs. Not compared: the pointers to the last x87 instruction
// and its operand, which are host addresses in one of them, and bits of the XSAVE header that only
// say whether a component is in its initial state.
std::vector<std::string> differences(const CpuState& native, const CpuState& emulated);

// One line for each difference in memory that a worker tells of. Hostile.
std::vector<std::string> differences(const ComparedMessage& memory);

// At the start of a block that no flag is read in before it is overwritten, an emulated state may
// have others: takes those from `native` over into `emulated`.
void adopt_dead_flags(const CpuState& native, CpuState& emulated, MemoryReader& memory);

// "rax 0x1 rcx 0x2 ..."
std::string general_registers(const CpuState& cpu);

}  // namespace shadowprof
