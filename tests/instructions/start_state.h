// Random registers to start from.
#pragma once

#include "case.h"
#include "random.h"

namespace shadowprof {

void randomize_state(Case& test, Random& random);
// Sets a part of a vector register, in whichever components of the XSAVE area it lies.
void set_vector_bytes(CpuState& cpu, unsigned reg, unsigned byte, std::span<const std::byte> value);
// All 64 bytes of a vector register.
std::array<std::byte, 64> vector_register(const CpuState& cpu, unsigned reg);

}  // namespace shadowprof
