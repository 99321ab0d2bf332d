// Instructions that get code of their own instead of being relocated: stack and string
// instructions, segment bases, and instructions that need no code at all.
#pragma once

#include <optional>

#include "decoder/instruction.h"
#include "emu/translation/code_buffer.h"
#include "emu/translation/relocate.h"

namespace shadowprof {

// Nothing if the instruction is an ordinary one for relocate(). A result that is not ok means that
// the instruction cannot be translated and nothing was appended.
std::optional<Relocated> translate_special(const Instruction& instruction, CodeBuffer& out);

}  // namespace shadowprof
