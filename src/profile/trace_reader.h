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

    // Reads records, oldest (last) first, takes their words off the end of `words` and writes their
    // blocks, oldest first, to `out`. Returns how many. Stops when `words` is empty, `out` is full
    // or the trace is damaged(). A record may go on in the next batch.
    std::size_t read(std::span<const std::uint64_t>& words, const BlockTable& table,
                     std::span<BlockToken> out);

    // An id or a block that cannot be was met since begin(): nothing more is read.
    bool damaged() const { return damaged_; }

  private:
    // What an id stands for: 0 not known yet, else a token, or `has_values` and a plan's index.
    using Meaning = std::uint32_t;
    static constexpr Meaning has_values = 1u << 31;

    struct SlotPlan {
        std::uint32_t lowest_word = 0;  // distance from the id down to the value's lowest word
        std::uint8_t width_bytes = 0;
        ValueBank::Index index = 0;
    };
    struct RecordPlan {
        BlockToken token = 0;
        std::uint32_t words = 0;                  // after the id
        std::uint32_t first_slot = 0, slots = 0;  // in slots_
    };
    // The part of the batch that was not read yet, and of the output that was not written yet.
    struct Cursor {
        const std::uint64_t* begin;
        const std::uint64_t* end;
        BlockToken* out;
        BlockToken* out_end;
    };

    Meaning meaning(std::uint64_t id) const {
        return meanings_[id < meanings_.size() - 1 ? id : meanings_.size() - 1];
    }
    void read_plain(Cursor& cursor) const;
    bool read_record(Cursor& cursor, const BlockTable& table);
    void read_values(Cursor& cursor, const RecordPlan& plan);
    void finish_pending(Cursor& cursor);
    void record(const RecordPlan& plan, const std::uint64_t* id);
    Meaning learn(std::uint64_t id, const BlockTable& table);
    std::optional<Meaning> plan_values(BlockToken token, const BlockInfo& block,
                                       std::span<const ValueSlot> slots);
    std::optional<SlotPlan> plan_slot(const ValueSlot& slot, BlockToken token, std::uint32_t word);

    BlockRegistry& registry_;
    BlockView& blocks_;
    ValueBank* values_;
    AddressResolver* resolver_ = nullptr;
    std::vector<Meaning> meanings_;  // by id, and one 0 behind: the meaning of every larger id
    std::vector<RecordPlan> plans_;  // number 0 is not used
    std::vector<SlotPlan> slots_;
    std::vector<std::uint64_t> pending_;  // a record that is not complete, as in memory, id last
    std::uint32_t pending_plan_ = 0;
    bool damaged_ = false;
};

}  // namespace shadowprof
