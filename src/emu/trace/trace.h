// The trace: what running guest code leaves behind, and the tables that give it meaning.
//
// A trace is a sequence of 64-bit words written from high addresses to low ones. Each executed
// basic block appends one record: the block's id, then the words of each of the block's value
// slots, in order. At TraceLevel::values there is one slot for each result, at
// TraceLevel::references one for each access to memory; a block translated at TraceLevel::blocks
// has no slots. One record may also stand for a sequence of several blocks of one level: its id
// then names a row with parts, and the words of the first part's slots follow, then those of the
// second's, and so on.
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

// The levels at which bursts run, between stretches at TraceLevel::blocks.
struct BurstLevels {
    bool values = false;
    bool references = false;
};

// How a basic block ends.
enum class Terminator : std::uint8_t {
    none,         // cut by a limit: control goes on at `end`
    conditional,  // goes to `target` if taken, else to `end`
    jump,         // goes to `target`
    indirect_jump,
    call,  // goes to `target`
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

// The most blocks that a sequence has.
inline constexpr std::size_t max_sequence_parts = 64;

// What a block id means. Rows are written once by the emulator and never changed. Rows from a
// worker process are hostile: readers check them.
//
// A row with parts is a sequence: blocks that were executed one after the other. The blocks' ids
// are its parts; they have its level and no parts of their own. Its `start` is that of the first
// block, the other addresses and the terminator are those of the last; `instructions` and
// `value_words` are sums. It has no slots itself.
struct BlockInfo {
    GuestAddress start;   // first instruction
    GuestAddress last;    // last instruction: the branch, if there is one
    GuestAddress end;     // one past the last byte: the fall-through successor
    GuestAddress target;  // of a direct branch or call, else 0
    std::uint32_t instructions;
    std::uint32_t first_slot;  // index into the table of value slots or that of reference slots
    std::uint32_t first_part;  // index into the table of parts
    std::uint16_t slots;
    std::uint16_t value_words;  // words after the id in each record of this block
    std::uint16_t parts;        // 0: a block, not a sequence
    Terminator terminator;
    TraceLevel level;
    // How many steps from one part of a sequence to the next are calls or backward branches.
    std::uint16_t calls;
    std::uint16_t back_edges;
};
static_assert(sizeof(BlockInfo) == 56);

// One recorded result of one instruction of a block.
//
// A slot of at most 8 bytes may have no words in the trace, as its value follows from another one:
// it is `addend` plus the value of the slot `source` of the same block, zero-extended, or `addend`
// alone. Sums have 64 bits, of which the low width_bytes count.
struct ValueSlot {
    static constexpr std::uint16_t no_source = 0xffff;

    std::uint16_t instruction_offset;  // bytes from the block's start
    std::uint16_t reg;                 // ZydisRegister, the destination as the instruction names it
    std::uint8_t width_bytes;          // width of the result: 1, 2, 4, 8, 16, 32 or 64
    std::uint8_t words;                // words in the trace; the low bytes of the value come first
    // Only without words: an earlier slot with words and at most 8 bytes.
    std::uint16_t source = no_source;
    std::int32_t addend = 0;
    ValueType type = {};
};
static_assert(sizeof(ValueSlot) == 16);

// What one instruction of a block does to memory at TraceLevel::references: one access, or none
// where `bytes` is 0. The slots of an instruction follow each other in the order of its accesses.
// An instruction without accesses has a slot only if it writes a general register or is a fence.
// Accesses of the kernel, of single-stepped instructions, and those that memory_references() leaves
// out have no slots.
//
// The linear address of the access, which includes the base of FS or GS, is `addend` plus a word:
// the slot's own word; for a slot without words, the word of the slot `source` of the same block;
// without a source, the address of the block's start.
struct ReferenceSlot {
    static constexpr std::uint16_t no_source = 0xffff;

    // The bits of `flags`.
    static constexpr std::uint16_t load = 1;
    static constexpr std::uint16_t store = 2;
    static constexpr std::uint16_t locked = 4;
    static constexpr std::uint16_t stack = 8;      // implied by the instruction
    static constexpr std::uint16_t repeated = 16;  // first access of a repeated string operation
    static constexpr std::uint16_t masked = 32;    // only some of the bytes; which is not known
    static constexpr std::uint16_t fence = 64;     // later loads wait for earlier stores
    // The address is one register plus a constant.
    static constexpr std::uint16_t direct = 128;
    // One register is written, with the loaded value or with the register that is read plus a
    // constant.
    static constexpr std::uint16_t copies = 256;
    static constexpr std::uint16_t all_flags = 511;

    std::uint16_t instruction_offset;  // bytes from the block's start
    std::uint8_t instruction;          // its index in the block
    std::uint8_t words;                // 0 or 1
    std::uint16_t source = no_source;  // an earlier slot with a word
    std::uint16_t flags = 0;
    std::int32_t addend = 0;
    std::uint16_t bytes = 0;
    // General registers, one bit each by number: those that make up the address, and, in the last
    // slot of the instruction, those that its results and stored values depend on, and those that
    // it writes. Results also depend on what the instruction loads. `written` has neither the RSP
    // of stack instructions nor the pointers of string instructions.
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

    // Null if there is no such id: a trace from outside may hold any word.
    const BlockInfo* find(std::uint64_t id) const {
        return id < blocks_.size() ? &blocks_[id] : nullptr;
    }
    // Slots of a block that is not at TraceLevel::references; empty if its slot range is invalid.
    std::span<const ValueSlot> slots_of(const BlockInfo& block) const {
        return range_of(slots_, block);
    }
    // Slots of a block at TraceLevel::references; empty if its slot range is invalid.
    std::span<const ReferenceSlot> references_of(const BlockInfo& block) const {
        return range_of(references_, block);
    }
    // Empty if the sequence's range of parts is invalid.
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
