// Where translated code leaves the x87 unit's environment, before an exit in front of an
// instruction that stores it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "emu/translation/execution_context.h"

namespace shadowprof {

// What FNSTENV stores (Intel SDM vol. 1, 8.1.10). The pointers are the low halves of addresses.
struct X87Environment {
    std::uint16_t control;  // never 0
    std::uint16_t reserved_1, status, reserved_2, tags, reserved_3;
    std::uint32_t instruction;
    std::uint16_t instruction_selector, opcode;
    std::uint32_t operand, operand_selector;
};
static_assert(sizeof(X87Environment) == 28);

// A part of the context's XSAVE area that processors leave to software (Intel SDM vol. 1, 13.4.1).
inline constexpr std::size_t x87_environment_place = offsetof(ExecutionContext, xsave) + 464;

}  // namespace shadowprof
