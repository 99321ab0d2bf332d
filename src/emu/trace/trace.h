// The trace: what running guest code leaves behind, and the tables that give it meaning.
//
// A trace is a sequence of 64-bit words written from high addresses to low ones. Each executed
// basic block appends one record: the block's id, then the words of each of the block's value
// slots, in order: at TraceLevel::values one for each result, at TraceLevel::references one for
// each access to memory. A block translated at TraceLevel::blocks has no slots. One record may also
// stand for a sequence of several blocks of one level: its id then names a row with parts, and what
// follows are the words of the first part's slots, then those of the second's, and so on.
#pragma once

#include <cstdint>
#include <span>

#include "base/guest_address.h"
#include "base/value_type.h"

namespace shadowprof {

enum class TraceLevel : std::uint8_t {
    blocks,      // block ids
    values,      // block ids and the results of instructions
    references,  // block ids and the addresses of accesses to memory
    none,        // nothing
};
inline constexpr std::size_t trace_levels = 4;

// At which levels bursts run, between stretches at TraceLevel::blocks.
struct BurstLevels {
    bool values = false;
    bool references = false;
};

// How a basic block ends.
enum class Terminator : std::uint8_t {
    none,         // cut by a limit: control goes on at `end`
    conditional,  // taken: `target`, else `end`
    jump,         // to `target`
    indirect_jump,
    call,  // to `target`
    indirect_call,
    ret,
    syscall,         // goes on at `end`
    single_stepped,  // the last instruction was single-stepped by ptrace
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
    std::uint32_t first_slot;  // index into the table of value slots, or that of reference slots
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
    std::uint8_t width_bytes;          // of the result: 1, 2, 4, 8, 16, 32 or 64
    std::uint8_t words;                // trace words it takes; the value is in the low bytes first
    // Means something where there are no words: an earlier slot with words and at most 8 bytes.
    std::uint16_t source = no_source;
    std::int32_t addend = 0;
    ValueType type = {};
};
static_assert(sizeof(ValueSlot) == 16);

// What one instruction of a block does to memory at TraceLevel::references: one access of it, or,
// where `bytes` is 0, none. The slots of an instruction follow each other, in the order of its
// accesses; one that does nothing to memory or general registers has none, nor has what
// memory_references() leaves out, what the kernel does and what is single-stepped.
//
// The access's linear address, with the base of FS or GS, is `addend` plus a word: the slot's own;
// or, of a slot without words, that of the slot `source` of the same block; or else the address of
// the block's start.
struct ReferenceSlot {
    static constexpr std::uint16_t no_source = 0xffff;

    // These are the bits of `flags`.
    static constexpr std::uint16_t load = 1;
    static constexpr std::uint16_t store = 2;
    static constexpr std::uint16_t locked = 4;
    static constexpr std::uint16_t stack = 8;      // implied by the instruction
    static constexpr std::uint16_t repeated = 16;  // the first of a repeated string instruction's
    static constexpr std::uint16_t masked = 32;  // of the bytes, some that the trace does not tell
    static constexpr std::uint16_t fence = 64;   // loads behind it wait for stores before it
    // The address is that of one register plus a constant.
    static constexpr std::uint16_t direct = 128;
    // One register is written, with what is loaded, or with the one that is read plus a constant.
    static constexpr std::uint16_t copies = 256;
    static constexpr std::uint16_t all_flags = 511;

    std::uint16_t instruction_offset;  // bytes from the block's start
    std::uint8_t instruction;          // its index in the block
    std::uint8_t words;                // 0 or 1
    std::uint16_t source = no_source;  // an earlier slot with a word
    std::uint16_t flags = 0;
    std::int32_t addend = 0;
    std::uint16_t bytes = 0;
    // General registers, a bit each by number: those that the address is made of, and, in the last
    // slot of the instruction, those that its results and what it stores are made of and those that
    // it writes. Results depend on what the instruction loads as well. RSP is not among what stack
    // instructions write, nor are the pointers among what string instructions do.
    std::uint16_t address_registers = 0;
    std::uint16_t read = 0;
    std::uint16_t written = 0;
};
static_assert(sizeof(ReferenceSlot) == 20);

// Read access to the tables of one emulator.
class BlockTable {
  public:
    BlockTable() = default;
    BlockTable(std::span<const BlockInfo> blocks, std::span<const ValueSlot> slots,
               std::span<const BlockId> parts = {}, std::span<const ReferenceSlot> references = {})
        : blocks_(blocks), slots_(slots), parts_(parts), references_(references) {}

    // Null for an id that cannot be: a trace from outside may hold any word.
    const BlockInfo* find(std::uint64_t id) const {
        return id < blocks_.size() ? &blocks_[id] : nullptr;
    }
    // Empty if the block's slot range cannot be. Of a block that is not at TraceLevel::references.
    std::span<const ValueSlot> slots_of(const BlockInfo& block) const {
        return range_of(slots_, block);
    }
    // The same of one that is.
    std::span<const ReferenceSlot> references_of(const BlockInfo& block) const {
        return range_of(references_, block);
    }
    // Empty if the sequence's range of parts cannot be.
    std::span<const BlockId> parts_of(const BlockInfo& sequence) const {
        if (sequence.first_part > parts_.size() ||
            parts_.size() - sequence.first_part < sequence.parts)
            return {};
        return parts_.subspan(sequence.first_part, sequence.parts);
    }

  private:
    template <typename Slot>
    static std::span<const Slot> range_of(std::span<const Slot> slots, const BlockInfo& block) {
        if (block.first_slot > slots.size() || slots.size() - block.first_slot < block.slots)
            return {};
        return slots.subspan(block.first_slot, block.slots);
    }

    std::span<const BlockInfo> blocks_;
    std::span<const ValueSlot> slots_;
    std::span<const BlockId> parts_;
    std::span<const ReferenceSlot> references_;
};

}  // namespace shadowprof
