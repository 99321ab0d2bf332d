// The trace: what running guest code leaves behind, and the tables that give it meaning.
//
// A trace is a sequence of 64-bit words written from high addresses to low ones. Each executed
// basic block appends one record: the block's id, then the words of each of the block's value
// slots, in order. A block translated at TraceLevel::blocks has no slots. One record may also stand
// for a sequence of several blocks of one level: its id then names a row with parts, and what
// follows are the words of the first part's slots, then those of the second's, and so on.
#pragma once

#include <cstdint>
#include <span>

#include "base/guest_address.h"

namespace shadowprof {

enum class TraceLevel : std::uint8_t {
    blocks,  // block ids
    values,  // block ids and the results of instructions
    none,    // nothing
};
inline constexpr std::size_t trace_levels = 3;

// How a basic block ends.
enum class Terminator : std::uint8_t {
    none,         // cut by a limit: control goes on at `end`
    conditional,  // taken: `target`, else `end`
    jump,         // to `target`
    indirect_jump,
    call,  // to `target`
    indirect_call,
    ret,
    syscall,      // goes on at `end`
    handed_over,  // the last instruction was single-stepped by ptrace
};

constexpr bool is_jump(Terminator t) {
    return t == Terminator::conditional || t == Terminator::jump || t == Terminator::indirect_jump;
}
constexpr bool is_call(Terminator t) {
    return t == Terminator::call || t == Terminator::indirect_call;
}

using BlockId = std::uint32_t;

// A sequence has at most so many blocks.
inline constexpr std::size_t max_sequence_parts = 64;

// What a block id means. Written once by the emulator, never changed. Hostile where it comes from a
// worker process: readers check.
//
// A row with parts is a sequence: blocks that were executed one after the other, whose ids are its
// parts, are of its level and have no parts of their own. Its `start` is that of the first, the
// other addresses and the terminator are those of the last; `instructions` and `value_words` are
// sums. It has no slots itself.
struct BlockInfo {
    GuestAddress start;   // first instruction
    GuestAddress last;    // last instruction: the branch, if there is one
    GuestAddress end;     // one past the last byte: the fall-through successor
    GuestAddress target;  // of a direct branch or call, else 0
    std::uint32_t instructions;
    std::uint32_t first_slot;  // index into the table of value slots
    std::uint32_t first_part;  // index into the table of parts
    std::uint16_t slots;
    std::uint16_t value_words;  // words after the id in each record of this block
    std::uint16_t parts;        // 0: a block, not a sequence
    Terminator terminator;
    TraceLevel level;
    // Steps from one part of a sequence to the next.
    std::uint16_t calls;
    std::uint16_t back_edges;
};
static_assert(sizeof(BlockInfo) == 56);

// One recorded result of one instruction of a block.
//
// A slot without words, of at most 8 bytes, has no value in the trace, as it follows from another:
// it is `addend` plus the value of the slot `source` of the same block, zero-extended, or `addend`
// alone; sums are of 64 bits, of which the low width_bytes count.
struct ValueSlot {
    static constexpr std::uint16_t no_source = 0xffff;

    std::uint16_t instruction_offset;  // bytes from the block's start
    std::uint16_t reg;                 // ZydisRegister, the destination as the instruction names it
    std::uint8_t width_bytes;          // of the destination: 1, 2, 4, 8, 16, 32 or 64
    std::uint8_t words;                // trace words it takes; the value is in the low bytes first
    // Means something where there are no words: an earlier slot with words and at most 8 bytes.
    std::uint16_t source = no_source;
    std::int32_t addend = 0;
};
static_assert(sizeof(ValueSlot) == 12);

// Read access to the tables of one emulator.
class BlockTable {
  public:
    BlockTable() = default;
    BlockTable(std::span<const BlockInfo> blocks, std::span<const ValueSlot> slots,
               std::span<const BlockId> parts = {})
        : blocks_(blocks), slots_(slots), parts_(parts) {}

    // Null for an id that cannot be: a trace from outside may hold any word.
    const BlockInfo* find(std::uint64_t id) const {
        return id < blocks_.size() ? &blocks_[id] : nullptr;
    }
    // Empty if the block's slot range cannot be.
    std::span<const ValueSlot> slots_of(const BlockInfo& block) const {
        if (block.first_slot > slots_.size() || slots_.size() - block.first_slot < block.slots)
            return {};
        return slots_.subspan(block.first_slot, block.slots);
    }
    // Empty if the sequence's range of parts cannot be.
    std::span<const BlockId> parts_of(const BlockInfo& sequence) const {
        if (sequence.first_part > parts_.size() ||
            parts_.size() - sequence.first_part < sequence.parts)
            return {};
        return parts_.subspan(sequence.first_part, sequence.parts);
    }

  private:
    std::span<const BlockInfo> blocks_;
    std::span<const ValueSlot> slots_;
    std::span<const BlockId> parts_;
};

}  // namespace shadowprof
