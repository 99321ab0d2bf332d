// Instructions that are not relocated as they are but written by hand: those that use the stack,
// the string instructions, segment bases, and those that need no code at all.
#pragma once

#include <optional>

#include "decoder/instruction.h"
#include "emu/translation/code_buffer.h"
#include "emu/translation/relocate.h"

namespace shadowprof {

// Nothing if the instruction is an ordinary one for relocate(). A result that is not ok means that
// the instruction cannot be translated; nothing was appended then.
std::optional<Relocated> translate_special(const Instruction& instruction, CodeBuffer& out);

}  // namespace shadowprof
