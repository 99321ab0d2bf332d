// Code for operands in memory, guest registers that no host register holds, flags, and the guest's
// stack.
#pragma once

#include <cstdint>

#include "base/guest_address.h"
#include "decoder/instruction.h"
#include "emu/translation/code_buffer.h"

namespace shadowprof {

// The prefix of the segment in which code reaches the operand, whose address it has computed by
// emit_operand_address().
std::uint8_t host_segment(const ZydisDecodedOperand& operand, const CodeBuffer& out);

// mov reg, segment:[scratch_a], or the store the other way round, by `opcode`: the access to the
// operand behind emit_operand_address().
void emit_operand_access(const ZydisDecodedOperand& operand, std::uint8_t opcode, std::uint8_t reg,
                         CodeBuffer& out);

// The host register that holds a guest register, which is loaded into `scratch` if need be.
std::uint8_t emit_read_gpr(std::uint8_t guest, std::uint8_t scratch, CodeBuffer& out);
void emit_write_gpr(std::uint8_t guest, std::uint8_t from, CodeBuffer& out);

void emit_push(std::uint8_t host_reg, CodeBuffer& out);
void emit_push_sign_extended(std::int32_t immediate, CodeBuffer& out);

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
