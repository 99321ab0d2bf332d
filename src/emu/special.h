// Instructions that are not relocated as they are but written by hand: those that use the stack,
// the string instructions, segment bases, and those that need no code at all.
#pragma once

#include <optional>

#include "decoder/instruction.h"
#include "emu/code_buffer.h"
#include "emu/relocate.h"

namespace shadowprof {

// Nothing if the instruction is an ordinary one for relocate(). A result that is not ok means that
// the instruction cannot be translated; nothing was appended then.
std::optional<Relocated> translate_special(const Instruction& instruction, CodeBuffer& out);

// Appends code that loads the 64-bit register or memory operand `operand` into scratch_a; uses
// scratch_b. False if that cannot be done.
bool emit_load_operand(const Instruction& instruction, const ZydisDecodedOperand& operand,
                       CodeBuffer& out);

// Appends the pop of a return address into scratch_a that `ret`, a RET, does.
void emit_pop_return_address(const Instruction& ret, CodeBuffer& out);

// scratch_a = the address of a POP's memory operand, where POP moves RSP by so many bytes; uses
// scratch_b. False if that cannot be done.
bool emit_pop_address(const Instruction& instruction, std::int32_t popped_bytes, CodeBuffer& out);

// scratch_a = RFLAGS.
void emit_flags_to_scratch(CodeBuffer& out);
// RFLAGS, or its low 16 bits, = scratch_a.
void emit_flags_from_scratch(bool narrow, CodeBuffer& out);

// Appends the guest's push of a return address; uses scratch_b only.
void emit_push_return_address(GuestAddress address, CodeBuffer& out);

}  // namespace shadowprof
