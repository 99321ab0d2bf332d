// The tables behind a trace, as their writer sees them. The memory may be shared with a reader.
#pragma once

#include <sys/mman.h>

#include <optional>
#include <span>

#include "emu/guest/growing_memory.h"
#include "emu/trace/flow_events.h"

namespace shadowprof {

// A table that rows are only appended to.
template <typename Row>
class GrowingTable {
  public:
    explicit GrowingTable(std::span<Row> rows, GrowingMemory memory)
        : rows_(rows), memory_(memory) {}

    // Makes room for so many more rows. False if there is none.
    bool has_room_for(std::size_t rows) {
        return rows <= rows_.size() - used_ && memory_.reach((used_ + rows) * sizeof(Row));
    }
    // Needs has_room_for(1).
    void append(const Row& row) { rows_[used_++] = row; }
    // operator[] and part() need rows that were appended.
    const Row& operator[](std::size_t index) const { return rows_[index]; }
    std::span<const Row> part(std::size_t first, std::size_t count) const {
        return rows_.subspan(first, count);
    }
    std::uint32_t used() const { return used_; }
    bool is_filled(double share) const {
        return static_cast<double>(used_) > share * static_cast<double>(rows_.size());
    }

  private:
    std::span<Row> rows_;
    GrowingMemory memory_;
    std::uint32_t used_ = 0;
};

class BlockTables {
  public:
    // The spans must be zero-filled and outlive this object. With Access::nowhere they are
    // inaccessible at first, and become accessible as they are filled.
    enum class Access { everywhere, nowhere };
    BlockTables(std::span<BlockInfo> blocks, std::span<ValueSlot> slots, std::span<BlockId> parts,
                std::span<ReferenceSlot> references, Access access = Access::everywhere)
        : blocks_(table(blocks, access)),
          slots_(table(slots, access)),
          parts_(table(parts, access)),
          references_(table(references, access)) {}

    // Appends a block and its slots; nothing if a table is full. Ids are never reused.
    std::optional<BlockId> add(BlockInfo info, std::span<const ValueSlot> slots) {
        return add(info, slots, slots_);
    }
    // Appends a block at TraceLevel::references.
    std::optional<BlockId> add(BlockInfo info, std::span<const ReferenceSlot> slots) {
        return add(info, slots, references_);
    }

    // Appends a row for each beginning of a sequence of blocks, shortest first: the first row has
    // one part, the last has all. Returns the first row's id; nothing if a table is full. `parts`
    // must be at most max_sequence_parts ids of blocks of one level without parts, and the sum of
    // their value words must fit its field.
    std::optional<BlockId> add_sequence(std::span<const BlockId> parts) {
        if (!blocks_.has_room_for(parts.size()) || !parts_.has_room_for(parts.size()))
            return std::nullopt;
        const auto first = size();
        BlockInfo row = blocks_[parts[0]];
        row.instructions = 0;
        row.slots = row.value_words = 0;
        row.first_part = parts_.used();
        for (auto part : parts) parts_.append(part);
        for (auto part : parts) {
            const auto& last = blocks_[part];
            if (row.parts != 0) count_step(row, last.start);
            row.last = last.last;
            row.end = last.end;
            row.target = last.target;
            row.terminator = last.terminator;
            row.instructions += last.instructions;
            row.value_words = static_cast<std::uint16_t>(row.value_words + last.value_words);
            ++row.parts;
            blocks_.append(row);
        }
        return first;
    }

    // How many events a sequence has, without the step behind it.
    static std::uint32_t events_in(const BlockInfo& row, EventKinds kinds) {
        return (kinds.calls ? row.calls : 0u) + (kinds.back_edges ? row.back_edges : 0u);
    }

    const BlockInfo& operator[](BlockId id) const { return blocks_[id]; }
    std::span<const ValueSlot> slots_of(const BlockInfo& info) const {
        return slots_.part(info.first_slot, info.slots);
    }
    std::span<const ReferenceSlot> references_of(const BlockInfo& info) const {
        return references_.part(info.first_slot, info.slots);
    }
    std::span<const BlockId> parts_of(const BlockInfo& sequence) const {
        return parts_.part(sequence.first_part, sequence.parts);
    }
    std::uint32_t size() const { return blocks_.used(); }
    bool full() { return !blocks_.has_room_for(1); }
    // Whether more than this share of any of the tables is used.
    bool is_filled(double share) const {
        return blocks_.is_filled(share) || slots_.is_filled(share) || parts_.is_filled(share) ||
               references_.is_filled(share);
    }

  private:
    static constexpr std::size_t step_bytes = std::size_t{256} << 10;

    template <typename Row>
    static GrowingTable<Row> table(std::span<Row> rows, Access access) {
        const auto memory = std::as_writable_bytes(rows);
        return GrowingTable<Row>(rows,
                                 access == Access::everywhere
                                     ? GrowingMemory::accessible(memory)
                                     : GrowingMemory(memory, PROT_READ | PROT_WRITE, step_bytes));
    }

    template <typename Slot>
    std::optional<BlockId> add(BlockInfo info, std::span<const Slot> slots,
                               GrowingTable<Slot>& table) {
        if (full() || !table.has_room_for(slots.size())) return std::nullopt;
        info.first_slot = table.used();
        info.slots = static_cast<std::uint16_t>(slots.size());
        for (const auto& slot : slots) table.append(slot);
        blocks_.append(info);
        return size() - 1;
    }
    static void count_step(BlockInfo& from, GuestAddress to) {
        if (is_event({.calls = true, .back_edges = false}, from.terminator, from.last, to))
            ++from.calls;
        if (is_event({.calls = false, .back_edges = true}, from.terminator, from.last, to))
            ++from.back_edges;
    }

    GrowingTable<BlockInfo> blocks_;
    GrowingTable<ValueSlot> slots_;
    GrowingTable<BlockId> parts_;
    GrowingTable<ReferenceSlot> references_;
};

}  // namespace shadowprof
