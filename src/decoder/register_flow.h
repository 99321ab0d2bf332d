// How the content of general registers comes from that of others: what the addresses and the order
// of memory accesses depend on.
#pragma once

#include <cstdint>
#include <optional>

#include "decoder/instruction.h"

namespace shadowprof {

// Masks of general registers have a bit by number.
struct RegisterFlow {
    std::uint16_t read = 0;  // what is written depends on these, and on what is loaded
    // Without RSP, RSI, RDI and RCX where stack and string instructions move them.
    std::uint16_t written = 0;
    // One register is written, with what is loaded or with the only register that is read plus a
    // constant.
    bool copies = false;
};
RegisterFlow register_flow(const Instruction& instruction);

// A 64-bit register that becomes another one, or itself, plus a constant.
struct RegisterSum {
    std::uint8_t to = 0, from = 0;
    std::int64_t addend = 0;
};
std::optional<RegisterSum> register_sum(const Instruction& instruction);

// By how many bytes a PUSH, POP, PUSHF, POPF or CALL moves RSP, unless it is what POP loads.
// Nothing for other instructions.
std::optional<std::int64_t> stack_move(const Instruction& instruction);

// PUSH, POP, CALL, RET, LEAVE, ENTER and their like: Zydis lists their accesses to the stack
// without what RSP is moved by first.
bool is_stack_instruction(const Instruction& instruction);

}  // namespace shadowprof
