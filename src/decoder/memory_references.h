// What an instruction reads from memory and writes to it, explicitly or not.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/cpu_state.h"
#include "decoder/instruction.h"

namespace shadowprof {

// One access. Its address is base + index * scale + displacement, of which the low 32 bits count if
// it is `narrow`, and the segment's base.
struct MemoryReference {
    enum class Segment : std::uint8_t { none, fs, gs };

    const ZydisDecodedOperand* modrm = nullptr;  // the instruction's operand; null: an implicit one
    std::optional<std::uint8_t> base, index;     // general registers
    std::uint8_t scale = 1;
    std::int64_t displacement = 0;  // with RIP, if that is the base
    Segment segment = Segment::none;
    bool narrow = false;

    std::uint16_t bytes = 0;
    bool load = false, store = false;
    bool stack = false;     // where RSP or, of LEAVE and ENTER, RBP is, without being named
    bool repeated = false;  // the first of as many as RCX says
    bool masked = false;    // of `bytes`, those that a mask chooses

    friend bool operator==(const MemoryReference&, const MemoryReference&) = default;
};

// In the order of the accesses. There are at most two.
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

// Left out: gathers and scatters, BT and its kin with the number of the bit in a register, XLAT,
// ENTER with a nesting level, what is only a hint (prefetches, NOP) or manages caches, and areas of
// unknown size (XSAVE).
MemoryReferences memory_references(const Instruction& instruction);

// Where an operand in memory lies, whether or not it is accessed; of LEA and its like, the address
// that they compute. `bytes` is 0 for areas of unknown size. Nothing for gathers and scatters, for
// what has_register_bit_offset(), and for operands that are not in memory.
std::optional<MemoryReference> operand_reference(const Instruction& instruction,
                                                 const ZydisDecodedOperand& operand);

// Where the reference is to, from what registers hold before the instruction is executed.
GuestAddress address_of(const MemoryReference& reference, const CpuState& cpu);

// Names memory that it neither reads nor writes: prefetches, NOP, and what evicts or writes back a
// cache line.
bool is_hint(const Instruction& instruction);
// Accesses only those elements of its operands that a mask chooses.
bool is_masked(const Instruction& instruction);
// BT and its kin with the number of the bit in a register: it counts in the address.
bool has_register_bit_offset(const Instruction& instruction);
// It is locked: XCHG with memory is without a prefix.
bool is_locked(const Instruction& instruction);
// No load behind it begins before all stores in front of it are done (Intel SDM vol. 3, 9.2.5 and
// 9.3): MFENCE and what serializes.
bool is_fence(const Instruction& instruction);

}  // namespace shadowprof
