// One decoded guest instruction: Zydis behind a small type.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/guest_address.h"

namespace shadowprof {

// What an instruction does to control flow.
enum class Flow : std::uint8_t {
    next,         // continues with the next instruction
    conditional,  // Jcc, LOOPcc, JRCXZ: to `branch_target` or the next instruction
    jump,         // direct
    indirect_jump,
    call,  // direct
    indirect_call,
    ret,
    syscall,
    other,  // anything else: far transfers, interrupts, transactions, privileged instructions
};

// Where in its encoding an instruction names a general register (Intel SDM vol. 2, 2.1 and 2.3).
enum class GprField : std::uint8_t { modrm_reg, modrm_rm, base, index, opcode, vvvv };

// One general register that an instruction names in its encoding.
struct GprUse {
    GprField field;
    std::uint8_t number;  // 0..15
    bool high_byte;       // AH, CH, DH or BH
    bool read;            // its old value matters, even if only because part of it is kept
    bool written;
    std::uint8_t width_bits;  // width of the operand
};

// The general registers named in an instruction's encoding; there are at most five.
class GprUses {
  public:
    void add(const GprUse& use) { uses_[count_++] = use; }
    const GprUse* begin() const { return uses_.data(); }
    const GprUse* end() const { return uses_.data() + count_; }

  private:
    std::array<GprUse, 6> uses_{};
    std::size_t count_ = 0;
};

class Instruction {
  public:
    static constexpr std::size_t max_length = ZYDIS_MAX_INSTRUCTION_LENGTH;

    // Decodes the instruction at the start of `bytes`. Returns nothing if they are not an
    // instruction or stop before its end.
    static std::optional<Instruction> decode(std::span<const std::byte> bytes,
                                             GuestAddress address);

    GuestAddress address() const { return address_; }
    GuestAddress next() const { return address_ + zydis_.length; }
    std::size_t length() const { return zydis_.length; }
    std::span<const std::uint8_t> bytes() const { return {bytes_.data(), zydis_.length}; }
    ZydisMnemonic mnemonic() const { return zydis_.mnemonic; }
    const ZydisDecodedInstruction& zydis() const { return zydis_; }
    std::span<const ZydisDecodedOperand> operands() const {
        return {operands_.data(), zydis_.operand_count};
    }

    Flow flow() const { return flow_; }
    // Needs a direct jump, a direct call or a conditional branch.
    GuestAddress branch_target() const;
    // Returns the condition code of a Jcc, whose lowest bit inverts it. Nothing for LOOP and JRCXZ.
    std::optional<std::uint8_t> jcc_condition() const;

    // Returns the memory operand that a ModRM byte names, including LEA's address, or null.
    const ZydisDecodedOperand* modrm_memory() const;
    bool has_memory_operand() const;
    // Whether it reads or writes memory, including the stack. False for LEA and its like.
    bool accesses_memory() const;
    GprUses gpr_uses() const;

    // Masks of ZYDIS_CPUFLAG_*. flags_read() has the status flags whose old value the instruction
    // reads, flags_killed() those that it overwrites whatever its operands are.
    std::uint32_t flags_read() const;
    std::uint32_t flags_killed() const;

    bool has_attribute(ZydisInstructionAttributes mask) const {
        return (zydis_.attributes & mask) != 0;
    }
    // Whether the result depends on more than registers and memory: on the time-stamp counter,
    // random numbers, the processor that happens to execute it, or the state components in use
    // (XINUSE, Intel SDM vol. 1, 13.6), which a context switch may change.
    bool is_nondeterministic() const;
    // Whether it may leave its destination register, or the upper half of it, unchanged though the
    // operand's actions do not say so.
    bool may_keep_destination() const;
    // Whether it has a REP, REPE or REPNE prefix that repeats it.
    bool is_repeated() const;

  private:
    Instruction() = default;

    ZydisDecodedInstruction zydis_;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands_;
    std::array<std::uint8_t, max_length> bytes_;
    GuestAddress address_;
    Flow flow_ = Flow::next;
};

// CF, PF, AF, ZF, SF and OF.
inline constexpr std::uint32_t status_flags = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF |
                                              ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
                                              ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

// Returns the number 0..15 of a general register of any width.
std::uint8_t gpr_number(ZydisRegister reg);
bool is_gpr(ZydisRegister reg);
bool is_high_byte(ZydisRegister reg);

}  // namespace shadowprof
