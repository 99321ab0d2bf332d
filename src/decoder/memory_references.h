// The memory accesses of an instruction, explicit and implicit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/cpu_state.h"
#include "decoder/instruction.h"

namespace shadowprof {

// One access. Its address is base + index * scale + displacement, cut to 32 bits if it is `narrow`,
// plus the base of the segment.
struct MemoryReference {
    enum class Segment : std::uint8_t { none, fs, gs };

    const ZydisDecodedOperand* modrm = nullptr;  // null unless a ModRM byte names the operand
    std::optional<std::uint8_t> base, index;     // general registers
    std::uint8_t scale = 1;
    std::int64_t displacement = 0;  // includes the next instruction's address if RIP is the base
    Segment segment = Segment::none;
    bool narrow = false;

    std::uint16_t bytes = 0;
    bool load = false, store = false;
    bool stack = false;     // implicit access to the stack, by RSP, or by RBP in LEAVE
    bool repeated = false;  // the first of RCX accesses
    bool masked = false;    // only a part of `bytes`, which a mask chooses

    friend bool operator==(const MemoryReference&, const MemoryReference&) = default;
};

// At most two accesses, in the order in which they happen.
class MemoryReferences {
  public:
    void add(const MemoryReference& reference) {
        if (count_ < list_.size()) list_[count_++] = reference;
    }
    const MemoryReference* begin() const { return list_.data(); }
    const MemoryReference* end() const { return list_.data() + count_; }
    std::size_t size() const { return count_; }

  private:
    std::array<MemoryReference, 4> list_;
    std::size_t count_ = 0;
};

// Returns the accesses that the instruction makes. It leaves out gathers and scatters, instructions
// with has_register_bit_offset(), XLAT, ENTER with a nesting level, hints (prefetches, NOP),
// instructions that manage caches, and areas of unknown size (XSAVE).
MemoryReferences memory_references(const Instruction& instruction);

// Returns where a memory operand lies, whether or not it is accessed. For LEA and its like this is
// the address that they compute. `bytes` is 0 for areas of unknown size. Returns nothing for
// gathers and scatters, instructions with has_register_bit_offset(), and operands that are not in
// memory.
std::optional<MemoryReference> operand_reference(const Instruction& instruction,
                                                 const ZydisDecodedOperand& operand);

// Returns the address. `cpu` holds the registers before the instruction is executed.
GuestAddress address_of(const MemoryReference& reference, const CpuState& cpu);

// Whether it names memory that it neither reads nor writes: prefetches, NOP, and instructions that
// evict or write back a cache line.
bool is_hint(const Instruction& instruction);
// Whether it accesses only those elements of its operands that a mask chooses.
bool is_masked(const Instruction& instruction);
// Whether it is BT, BTC, BTR or BTS with a bit number in a register, which shifts the address.
bool has_register_bit_offset(const Instruction& instruction);
// Whether it is locked. XCHG with memory is locked without a prefix.
bool is_locked(const Instruction& instruction);
// Whether no later load begins before all earlier stores are done (Intel SDM vol. 3, 9.2.5 and
// 9.3): MFENCE, CPUID and SERIALIZE.
bool is_fence(const Instruction& instruction);

}  // namespace shadowprof
