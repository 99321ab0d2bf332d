// Stack instructions with an operand size of 16 bits.
#pragma once

#include <optional>

#include "emu/translation/code_buffer.h"
#include "emu/translation/relocate.h"

namespace shadowprof {

// Nothing if the instruction is no 16-bit stack instruction; a result that is not ok if it cannot
// be translated.
std::optional<Relocated> translate_narrow_stack(const Instruction& instruction, CodeBuffer& out);

}  // namespace shadowprof
