// What kind of number an instruction leaves in a register.
#pragma once

#include <cstdint>

#include "base/value_type.h"
#include "decoder/instruction.h"

namespace shadowprof {

struct ResultType {
    ValueType type;                // canonical for the width
    std::uint8_t width_bytes = 0;  // size of the low part of the register that holds the result
};

// Returns the type and the width of the result in `written`, which must be a general or vector
// register operand that `instruction` writes to.
//
// The result in a general register is the operand. In a vector register it is all that the
// operand's register names, or only the lowest lane if the instruction computes one floating-point
// number and keeps or copies the other lanes (ADDSD). Instructions that only move bits, or combine
// them one by one, have `bits`: compilers move and mask any data with MOVAPS.
ResultType result_type(const Instruction& instruction, const ZydisDecodedOperand& written);

}  // namespace shadowprof
