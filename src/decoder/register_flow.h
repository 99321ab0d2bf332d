// How the content of general registers is computed from others. Addresses and the order of memory
// accesses depend on it.
#pragma once

#include <cstdint>
#include <optional>

#include "decoder/instruction.h"

namespace shadowprof {

// Masks have a bit for each general register, by its number.
struct RegisterFlow {
    std::uint16_t read = 0;  // written registers depend on these and on loaded values
    // RSP, RSI, RDI and RCX are left out where stack and string instructions move them.
    std::uint16_t written = 0;
    // One register is written. It gets a loaded value, or the only register that is read plus a
    // constant.
    bool copies = false;
};
RegisterFlow register_flow(const Instruction& instruction);

// A 64-bit register that is set to a register, possibly itself, plus a constant.
struct RegisterSum {
    std::uint8_t to = 0, from = 0;
    std::int64_t addend = 0;
};
std::optional<RegisterSum> register_sum(const Instruction& instruction);

// Returns by how many bytes a PUSH, POP, PUSHF, POPF or CALL moves RSP. Nothing for other
// instructions and for POP RSP.
std::optional<std::int64_t> stack_move(const Instruction& instruction);

// Whether it is PUSH, POP, CALL, RET, LEAVE, ENTER or the like. For these, Zydis lists the accesses
// to the stack without the amount by which RSP moves first.
bool is_stack_instruction(const Instruction& instruction);

}  // namespace shadowprof
