// Reads one emulator's trace: turns records into canonical blocks, and hands on their values.
//
// Everything it reads may be forged, and may change while it is read: each word and each table row
// is copied once, checked, and only the copy is used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emu/trace.h"
#include "profile/block_registry.h"
#include "profile/path_graph.h"
#include "profile/record_follower.h"
#include "profile/value_bank.h"

namespace shadowprof {

class TraceReader {
  public:
    // Values are read past if `values` is null. All must outlive the reader.
    TraceReader(BlockRegistry& registry, BlockView& blocks, ValueBank* values);

    // Forgets what ids mean: the trace comes from another emulator from now on.
    void new_emulator();
    // A sample starts in a layout that `resolver` knows.
    void begin(AddressResolver& resolver);

    // A part of a record was read: read() must come next.
    bool in_record() const { return !pending_.empty(); }
    // Reads the oldest (last) record, takes its words off the end of `words` and hands on its
    // values. Nothing if the record goes on in the next batch, or the trace is damaged(). The
    // record's blocks are among tokens().
    std::optional<TraceRecord> read(std::span<const std::uint64_t>& words, const BlockTable& table);

    // Grows until new_emulator().
    const std::vector<BlockToken>& tokens() const { return tokens_; }

    // An id or a block that cannot be was met since begin(): nothing more is read.
    bool damaged() const { return damaged_; }

  private:
    struct SlotPlan {
        // Distance from the id down to the lowest word of the value or of what it follows from; 0:
        // it is the addend.
        std::uint32_t lowest_word = 0;
        std::int32_t addend = 0;
        std::uint8_t source_bytes = 0;
        std::uint8_t width_bytes = 0;
        ValueBank::Index index = 0;
    };
    // What an id means.
    struct RecordPlan {
        std::uint32_t words = 0;                    // after the id
        std::uint32_t first_slot = 0, slots = 0;    // in slots_
        std::uint32_t first_block = 0, blocks = 0;  // in tokens_
        std::uint32_t instructions = 0;
    };

    void hand_on_values(const RecordPlan& plan);
    std::uint32_t plan_of(std::uint64_t id, const BlockTable& table);
    std::optional<RecordPlan> learn(const BlockInfo& row, const BlockTable& table);
    bool learn_block(const BlockInfo& block, RecordPlan& plan);
    bool learn_parts(const BlockInfo& row, const BlockTable& table, RecordPlan& plan);
    bool learn_values(const BlockInfo& block, const BlockTable& table, RecordPlan& plan);
    std::optional<SlotPlan> plan_slot(const ValueSlot& slot, BlockToken token);

    BlockRegistry& registry_;
    BlockView& blocks_;
    ValueBank* values_;
    AddressResolver* resolver_ = nullptr;
    std::vector<std::uint32_t> plan_by_id_;  // 0: not known yet
    std::vector<RecordPlan> plans_;          // number 0 is not used
    std::vector<SlotPlan> slots_;
    std::vector<BlockToken> tokens_;
    std::vector<std::uint64_t> pending_;  // a record as far as it was read, newest word first
    bool damaged_ = false;
};

}  // namespace shadowprof
