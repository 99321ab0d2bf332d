// Translates the ids of one emulator's trace. The meaning of an id is read from the emulator's
// tables when it is first met.
//
// The tables may be forged, and may change while they are read. Each row is copied once, the copy
// is checked, and only the copy is used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/trace/trace.h"
#include "profile/code/block_registry.h"
#include "profile/collect/reference_sites.h"
#include "profile/kinds/paths/path_graph.h"
#include "profile/kinds/values/value_bank.h"

namespace shadowprof {

// Where each record holds the values of one slot. Words are given by their distance down from the
// word before those of the slot's block.
struct SlotPlan {
    ValueBank::Index site = 0;
    std::int32_t addend = 0;        // added to the traced value
    std::uint16_t lowest_word = 0;  // the word with the value's lowest bits
    std::uint8_t traced_bytes = 0;  // how many bytes were traced; 0: the addend is the value
    std::uint8_t width_bytes = 0;   // the sum is cut to this width
};

// One slot of a block with references. `reference` has the constant part of the address, and its
// instruction is an index in the block.
struct ReferencePlan {
    Reference reference;
    std::uint16_t word = 0;  // distance down to the word that is added to the address; 0: no word
};

// The layout of the records of one id.
struct RecordPlan {
    // A block with slots, of values or of references. Its words follow `words_before` others.
    struct Block {
        std::uint32_t number = 0;  // index in the record
        std::uint32_t first_slot = 0, slots = 0;
        std::uint32_t words_before = 0;
        std::uint32_t instructions = 0;
        bool enters_kernel = false;  // its last instruction enters the kernel
    };
    std::uint32_t words = 0;                     // words after the id, at most 65535
    std::uint32_t first_valued = 0, valued = 0;  // blocks with slots; all blocks, in a record of
                                                 // references
    std::uint32_t first_block = 0, blocks = 0;   // range of tokens()
    std::uint32_t instructions = 0;
    bool sequence = false;
    bool references = false;

    // Whether the record must be read from the window.
    bool has_values() const { return words != 0 || valued != 0; }
};

class RecordPlans {
  public:
    // Slots of values are planned unless `values` is null, slots of references unless `sites` is
    // null. All arguments must outlive this.
    RecordPlans(BlockRegistry& registry, BlockView& blocks, ValueBank* values,
                ReferenceSites* sites);

    // Forgets everything, as ids of another emulator follow.
    void clear();
    // Returns null if the id or its rows are not plausible. The plan is valid until the next call.
    const RecordPlan* find(std::uint64_t id, const BlockTable& table, AddressResolver& resolver);

    // Returns null if the id was not found before.
    const RecordPlan* find_known(std::uint64_t id) const {
        const Number number = known(id);
        return number == 0 ? nullptr : &plans_[number];
    }
    // Needs an id that was found before.
    const RecordPlan& operator[](std::uint32_t id) const { return plans_[by_id_[id]]; }

    std::span<const RecordPlan::Block> valued_blocks(const RecordPlan& plan) const {
        return std::span(valued_).subspan(plan.first_valued, plan.valued);
    }
    std::span<const SlotPlan> slots(const RecordPlan::Block& block) const {
        return std::span(slots_).subspan(block.first_slot, block.slots);
    }
    // Needs a block of a plan with references.
    std::span<const ReferencePlan> references(const RecordPlan::Block& block) const {
        return std::span(references_).subspan(block.first_slot, block.slots);
    }
    // Grows until clear().
    const std::vector<BlockToken>& tokens() const { return tokens_; }

  private:
    using Number = std::uint32_t;  // number of a plan; 0: none

    // Where rows are read from.
    struct Source {
        const BlockTable& table;
        AddressResolver& resolver;
    };
    Number known(std::uint64_t id) const { return id < by_id_.size() ? by_id_[id] : 0; }
    Number learn(std::uint64_t id, const BlockInfo& row, const Source& source);
    Number learn_part(BlockId id, const Source& source);
    bool plan_block(const BlockInfo& block, const Source& source, RecordPlan& plan);
    bool plan_values(const BlockInfo& block, const BlockTable& table, RecordPlan& plan);
    bool plan_references(const BlockInfo& block, const BlockTable& table, RecordPlan& plan);
    void plan_reference(std::size_t row, BlockToken token, GuestAddress start);
    bool plan_parts(const BlockInfo& row, const Source& source, RecordPlan& plan);
    void append_part(const RecordPlan& part, RecordPlan& plan);
    void plan_slot(const ValueSlot& slot, BlockToken token, std::uint32_t word);

    BlockRegistry& registry_;
    BlockView& blocks_;
    ValueBank* values_;
    ReferenceSites* sites_;
    std::vector<Number> by_id_;
    std::vector<RecordPlan> plans_;  // number 0 is not used
    std::vector<RecordPlan::Block> valued_;
    std::vector<SlotPlan> slots_;
    std::vector<BlockToken> tokens_;
    std::vector<ReferencePlan> references_;
    std::vector<ValueSlot> rows_;                // scratch: rows of one block
    std::vector<ReferenceSlot> reference_rows_;  // scratch: rows of one block
    std::vector<std::uint16_t> lowest_words_;    // by row
};

}  // namespace shadowprof
