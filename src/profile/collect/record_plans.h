// What the ids of one emulator's trace mean: learned from the emulator's tables when an id is first
// met, then remembered.
//
// The tables may be forged, and may change while they are read: each row is copied once, checked,
// and only the copy is used.
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

// Where the values of one slot are found in each record that has it. `words` are distances down
// from the word before those of the slot's block.
struct SlotPlan {
    ValueBank::Index site = 0;
    std::int32_t addend = 0;        // to be added to what lies there
    std::uint16_t lowest_word = 0;  // where the value's lowest word lies
    std::uint8_t traced_bytes = 0;  // how much of that is a value; 0: nothing, the addend is it
    std::uint8_t width_bytes = 0;   // what the sum is cut to
};

// One slot of a block with references: `reference`, whose address is a constant so far, and whose
// instruction is its index in the block.
struct ReferencePlan {
    Reference reference;
    std::uint16_t word = 0;  // distance down to the word that is added to the address; 0: none
};

// One kind of record.
struct RecordPlan {
    // The slots of a block whose words begin behind so many: of values or, where there are any, of
    // references.
    struct Block {
        std::uint32_t number = 0;  // in the record
        std::uint32_t first_slot = 0, slots = 0;
        std::uint32_t words_before = 0;
        std::uint32_t instructions = 0;
        bool enters_kernel = false;  // with its last instruction
    };
    std::uint32_t words = 0;                     // after the id: at most 65535
    std::uint32_t first_valued = 0, valued = 0;  // blocks that have slots, or references: all
    std::uint32_t first_block = 0, blocks = 0;   // of tokens()
    std::uint32_t instructions = 0;
    bool sequence = false;
    bool references = false;

    // They must be looked at in the window.
    bool has_values() const { return words != 0 || valued != 0; }
};

class RecordPlans {
  public:
    // No slots of values are planned if `values` is null, none of references if `sites` is. All
    // must outlive this.
    RecordPlans(BlockRegistry& registry, BlockView& blocks, ValueBank* values,
                ReferenceSites* sites);

    // Forgets everything: another emulator's ids come.
    void clear();
    // Null for an id that cannot be, or whose rows cannot. Valid until the next call.
    const RecordPlan* find(std::uint64_t id, const BlockTable& table, AddressResolver& resolver);

    // The same of an id that was found; null for any other.
    const RecordPlan* find_known(std::uint64_t id) const {
        const Number number = known(id);
        return number == 0 ? nullptr : &plans_[number];
    }
    // Needs an id that was found.
    const RecordPlan& operator[](std::uint32_t id) const { return plans_[by_id_[id]]; }

    std::span<const RecordPlan::Block> valued_blocks(const RecordPlan& plan) const {
        return std::span(valued_).subspan(plan.first_valued, plan.valued);
    }
    std::span<const SlotPlan> slots(const RecordPlan::Block& block) const {
        return std::span(slots_).subspan(block.first_slot, block.slots);
    }
    // Needs a block of a plan of references.
    std::span<const ReferencePlan> references(const RecordPlan::Block& block) const {
        return std::span(references_).subspan(block.first_slot, block.slots);
    }
    // Grow until clear().
    const std::vector<BlockToken>& tokens() const { return tokens_; }

  private:
    using Number = std::uint32_t;  // of a plan; 0: none

    // Tables and addresses while rows are read.
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
    std::vector<ValueSlot> rows_;                // scratch: those of one block
    std::vector<ReferenceSlot> reference_rows_;  // the same
    std::vector<std::uint16_t> lowest_words_;    // of them
};

}  // namespace shadowprof
