// What kind of number an instruction leaves in a register.
#pragma once

#include <cstdint>

#include "base/value_type.h"
#include "decoder/instruction.h"

namespace shadowprof {

struct ResultType {
    ValueType type;                // canonical for the width
    std::uint8_t width_bytes = 0;  // of the register's low part that is the result
};

// Tells the type and the width of the result in `written`. Needs a general or vector register
// operand that `instruction` writes to.
//
// The result is what a general register's operand has; of a vector register, all that the operand's
// register names, or its lowest lane where the instruction computes one floating-point number and
// leaves the others alone or copies them (ADDSD). What only moves bits, or combines them one by
// one, has `bits`: compilers move and mask anything with MOVAPS.
ResultType result_type(const Instruction& instruction, const ZydisDecodedOperand& written);

}  // namespace shadowprof
