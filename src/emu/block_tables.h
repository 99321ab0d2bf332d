// The tables behind a trace, as their writer sees them. The memory may be shared with a reader.
#pragma once

#include <optional>
#include <span>

#include "emu/trace.h"

namespace shadowprof {

class BlockTables {
  public:
    // Both spans must be zero-filled and outlive this.
    BlockTables(std::span<BlockInfo> blocks, std::span<ValueSlot> slots)
        : blocks_(blocks), slots_(slots) {}

    // Appends a block and its slots; nothing if a table is full. Ids are never reused.
    std::optional<BlockId> add(BlockInfo info, std::span<const ValueSlot> slots) {
        if (full() || slots_.size() - next_slot_ < slots.size()) return std::nullopt;
        info.first_slot = next_slot_;
        info.slots = static_cast<std::uint16_t>(slots.size());
        for (const auto& slot : slots) slots_[next_slot_++] = slot;
        blocks_[next_block_] = info;
        return next_block_++;
    }
    const BlockInfo& operator[](BlockId id) const { return blocks_[id]; }
    std::span<const ValueSlot> slots_of(const BlockInfo& info) const {
        return slots_.subspan(info.first_slot, info.slots);
    }
    std::uint32_t size() const { return next_block_; }
    bool full() const { return next_block_ == blocks_.size(); }

  private:
    std::span<BlockInfo> blocks_;
    std::span<ValueSlot> slots_;
    BlockId next_block_ = 0;
    std::uint32_t next_slot_ = 0;
};

}  // namespace shadowprof
