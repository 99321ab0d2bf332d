// The tables behind a trace, as their writer sees them. The memory may be shared with a reader.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "emu/flow_events.h"

namespace shadowprof {

class BlockTables {
  public:
    // The spans must be zero-filled and outlive this.
    BlockTables(std::span<BlockInfo> blocks, std::span<ValueSlot> slots, std::span<BlockId> parts,
                std::span<ReferenceSlot> references)
        : blocks_(blocks), slots_(slots), parts_(parts), references_(references) {}

    // Appends a block and its slots; nothing if a table is full. Ids are never reused.
    std::optional<BlockId> add(BlockInfo info, std::span<const ValueSlot> slots) {
        return add(info, slots, slots_, next_slot_);
    }
    // The same of a block at TraceLevel::references.
    std::optional<BlockId> add(BlockInfo info, std::span<const ReferenceSlot> slots) {
        return add(info, slots, references_, next_reference_);
    }

    // Appends a row for each beginning of a sequence of blocks, shortest first: the first has one
    // part, the last has all. Returns the first row's id; nothing if a table is full. Needs ids of
    // blocks of one level without parts, at most max_sequence_parts, whose value words are few
    // enough to be counted.
    std::optional<BlockId> add_sequence(std::span<const BlockId> parts) {
        if (blocks_.size() - next_block_ < parts.size() ||
            parts_.size() - next_part_ < parts.size())
            return std::nullopt;
        std::copy(parts.begin(), parts.end(), parts_.begin() + next_part_);
        const auto first = next_block_;
        BlockInfo row = blocks_[parts[0]];
        row.instructions = 0;
        row.slots = row.value_words = 0;
        row.first_part = next_part_;
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
            blocks_[next_block_++] = row;
        }
        next_part_ += static_cast<std::uint32_t>(parts.size());
        return first;
    }

    // Events of a sequence, but for the step behind it.
    static std::uint32_t events_in(const BlockInfo& row, EventKinds kinds) {
        return (kinds.calls ? row.calls : 0u) + (kinds.back_edges ? row.back_edges : 0u);
    }

    const BlockInfo& operator[](BlockId id) const { return blocks_[id]; }
    std::span<const ValueSlot> slots_of(const BlockInfo& info) const {
        return slots_.subspan(info.first_slot, info.slots);
    }
    std::span<const ReferenceSlot> references_of(const BlockInfo& info) const {
        return references_.subspan(info.first_slot, info.slots);
    }
    std::span<const BlockId> parts_of(const BlockInfo& sequence) const {
        return parts_.subspan(sequence.first_part, sequence.parts);
    }
    std::uint32_t size() const { return next_block_; }
    bool full() const { return next_block_ == blocks_.size(); }
    // More than this share of one of the tables is used.
    bool is_filled(double share) const {
        const auto beyond = [&](std::size_t used, std::size_t all) {
            return static_cast<double>(used) > share * static_cast<double>(all);
        };
        return beyond(next_block_, blocks_.size()) || beyond(next_slot_, slots_.size()) ||
               beyond(next_part_, parts_.size()) || beyond(next_reference_, references_.size());
    }

  private:
    template <typename Slot>
    std::optional<BlockId> add(BlockInfo info, std::span<const Slot> slots, std::span<Slot> table,
                               std::uint32_t& next) {
        if (full() || table.size() - next < slots.size()) return std::nullopt;
        info.first_slot = next;
        info.slots = static_cast<std::uint16_t>(slots.size());
        for (const auto& slot : slots) table[next++] = slot;
        blocks_[next_block_] = info;
        return next_block_++;
    }
    static void count_step(BlockInfo& from, GuestAddress to) {
        if (is_event({.calls = true, .back_edges = false}, from.terminator, from.last, to))
            ++from.calls;
        if (is_event({.calls = false, .back_edges = true}, from.terminator, from.last, to))
            ++from.back_edges;
    }

    std::span<BlockInfo> blocks_;
    std::span<ValueSlot> slots_;
    std::span<BlockId> parts_;
    std::span<ReferenceSlot> references_;
    BlockId next_block_ = 0;
    std::uint32_t next_slot_ = 0;
    std::uint32_t next_reference_ = 0;
    std::uint32_t next_part_ = 0;
};

}  // namespace shadowprof
