// Relocates ordinary instructions: the instruction itself, with guest memory reached through GS (or
// FS) and the four displaced registers where they live (see execution_context.h).
#pragma once

#include <array>
#include <cstdint>

#include "decoder/instruction.h"
#include "emu/translation/code_buffer.h"

namespace shadowprof {

// What must be undone in the host registers to have the guest's, if an instruction faults.
enum class Recovery : std::uint8_t {
    none,
    rdi_shifted,   // RDI has the delta added
    rbx_borrowed,  // the guest's register is in ExecutionContext::borrowed
    rbp_borrowed,
    rsi_borrowed,
    rdi_borrowed,
};

struct Relocated {
    bool ok = false;  // false: nothing was appended, the instruction cannot be relocated
    Recovery recovery = Recovery::none;
    // After the instruction, the host registers that hold the guest's R9, R10 and R11 as far as the
    // instruction wrote them.
    std::array<std::uint8_t, 3> context_home{};
};

inline constexpr Relocated translated{.ok = true};
inline constexpr Relocated untranslatable{};

// Appends an instruction with Flow::next that needs no treatment of its own (see special.h).
// The guest state is precise at its fault: nothing is changed before the instruction itself.
Relocated relocate(const Instruction& instruction, CodeBuffer& out);

// Appends code that puts the address of the instruction's ModRM memory operand in scratch_a: with
// the base of GS, without that of FS unless it has to be added (CodeBuffer::keeps_host_fs). Uses
// scratch_b. False if that cannot be done.
bool emit_operand_address(const Instruction& instruction, CodeBuffer& out);

}  // namespace shadowprof
