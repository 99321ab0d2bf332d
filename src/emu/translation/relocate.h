// Relocates ordinary instructions: the instruction stays, but it accesses guest memory through GS
// (or FS) and uses the four displaced registers where they live (see execution_context.h).
#pragma once

#include <array>
#include <cstdint>

#include "decoder/instruction.h"
#include "emu/translation/code_buffer.h"

namespace shadowprof {

// What must be undone in the host registers after a fault to have the guest's.
enum class Recovery : std::uint8_t {
    none,
    rdi_shifted,   // RDI has the delta added
    rbx_borrowed,  // the guest's RBX is in ExecutionContext::borrowed
    rbp_borrowed,
    rsi_borrowed,
    rdi_borrowed,
};

struct Relocated {
    bool ok = false;  // false: the instruction cannot be relocated, and nothing was appended
    Recovery recovery = Recovery::none;
    // Host registers that hold the guest's R9, R10 and R11 after the instruction; only for those
    // that it wrote.
    std::array<std::uint8_t, 3> context_home{};
};

inline constexpr Relocated translated{.ok = true};
inline constexpr Relocated untranslatable{};

// Appends an instruction with Flow::next that needs no treatment of its own (see special.h). The
// guest state is precise if it faults: nothing is changed before the instruction itself.
Relocated relocate(const Instruction& instruction, CodeBuffer& out);

// Appends code that puts the address of the instruction's ModRM memory operand into scratch_a. The
// base of GS is included; that of FS only if it has to be added (CodeBuffer::keeps_host_fs()). Uses
// scratch_b. False if that cannot be done.
bool emit_operand_address(const Instruction& instruction, CodeBuffer& out);

}  // namespace shadowprof
