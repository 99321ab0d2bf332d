// Comparing two register states, byte by byte where no byte may differ.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_state.h"

namespace shadowprof {

// One line for each register that differs. Not compared: the pointers to the last x87 instruction
// and its operand, which are host addresses in one of them, and bits of the XSAVE header that only
// say whether a component is in its initial state.
std::vector<std::string> differences(const CpuState& native, const CpuState& emulated);

}  // namespace shadowprof
