// Code for operands in memory, for guest registers that no host register holds, for flags, and for
// the guest's stack.
#pragma once

#include <cstdint>

#include "base/guest_address.h"
#include "decoder/instruction.h"
#include "emu/translation/code_buffer.h"

namespace shadowprof {

// The segment prefix with which code accesses the operand at the address that
// emit_operand_address() computes.
std::uint8_t host_segment(const ZydisDecodedOperand& operand, const CodeBuffer& out);

// Appends the access to an operand behind emit_operand_address(). `opcode` says whether it is a
// load, mov reg, segment:[scratch_a], or the store.
void emit_operand_access(const ZydisDecodedOperand& operand, std::uint8_t opcode, std::uint8_t reg,
                         CodeBuffer& out);

// Returns the host register that holds a guest register; loads it into `scratch` first if none
// does.
std::uint8_t emit_read_gpr(std::uint8_t guest, std::uint8_t scratch, CodeBuffer& out);
void emit_write_gpr(std::uint8_t guest, std::uint8_t from, CodeBuffer& out);

void emit_push(std::uint8_t host_reg, CodeBuffer& out);
void emit_push_sign_extended(std::int32_t immediate, CodeBuffer& out);

// Appends code that loads the 64-bit register or memory operand `operand` into scratch_a. Uses
// scratch_b. False if that cannot be done.
bool emit_load_operand(const Instruction& instruction, const ZydisDecodedOperand& operand,
                       CodeBuffer& out);

// Appends code that pops the return address of `ret`, a RET, into scratch_a.
void emit_pop_return_address(const Instruction& ret, CodeBuffer& out);

// scratch_a = the address of a POP's memory operand, where the POP moves RSP by `popped_bytes`.
// Uses scratch_b. False if that cannot be done.
bool emit_pop_address(const Instruction& instruction, std::int32_t popped_bytes, CodeBuffer& out);

// scratch_a = RFLAGS.
void emit_flags_to_scratch(CodeBuffer& out);
// RFLAGS, or its low 16 bits, = scratch_a.
void emit_flags_from_scratch(bool narrow, CodeBuffer& out);

// Appends the guest's push of a return address; uses scratch_b only.
void emit_push_return_address(GuestAddress address, CodeBuffer& out);

}  // namespace shadowprof
