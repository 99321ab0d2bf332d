// Random initial registers.
#pragma once

#include "case.h"
#include "random.h"

namespace shadowprof {

void randomize_state(Case& test, Random& random);
// Sets a part of a vector register, in the component of the XSAVE area that has it.
void set_vector_bytes(CpuState& cpu, unsigned reg, unsigned byte, std::span<const std::byte> value);
// All 64 bytes of a vector register.
std::array<std::byte, 64> vector_register(const CpuState& cpu, unsigned reg);

}  // namespace shadowprof
