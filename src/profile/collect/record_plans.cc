#include "profile/collect/record_plans.h"

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

// As many slots of a kind as an emulator has room for. Forged tables could name more, as blocks may
// share slots.
constexpr std::size_t max_slots = std::size_t{4} << 20;

}  // namespace

RecordPlans::RecordPlans(BlockRegistry& registry, BlockView& blocks, ValueBank* values,
                         ReferenceSites* sites)
    : registry_(registry), blocks_(blocks), values_(values), sites_(sites) {
    clear();
}

void RecordPlans::clear() {
    by_id_.clear();
    plans_.assign(1, {});
    valued_.clear();
    slots_.clear();
    references_.clear();
    tokens_.clear();
}

const RecordPlan* RecordPlans::find(std::uint64_t id, const BlockTable& table,
                                    AddressResolver& resolver) {
    if (const auto number = known(id)) return &plans_[number];
    const BlockInfo* row = table.find(id);
    if (!row) return nullptr;
    const auto number = learn(id, BlockInfo(*row), {table, resolver});
    return number ? &plans_[number] : nullptr;
}

RecordPlans::Number RecordPlans::learn(std::uint64_t id, const BlockInfo& row,
                                       const Source& source) {
    RecordPlan plan{.sequence = row.parts != 0};
    const bool good = plan.sequence
                          ? plan_parts(row, source, plan)
                          : plan_block(row, source, plan) && plan_values(row, source.table, plan);
    if (!good) return 0;
    plans_.push_back(plan);
    if (id >= by_id_.size()) by_id_.resize(std::max<std::size_t>(id + 1, 2 * by_id_.size()));
    return by_id_[id] = static_cast<Number>(plans_.size() - 1);
}

bool RecordPlans::plan_block(const BlockInfo& block, const Source& source, RecordPlan& plan) {
    if (!is_plausible(block)) return false;
    const auto token = registry_.token(block, source.resolver);
    if (!token) return false;
    blocks_.learn(*token);
    plan.first_block = static_cast<std::uint32_t>(tokens_.size());
    plan.blocks = 1;
    tokens_.push_back(*token);
    plan.instructions = block.instructions;
    return true;
}

bool RecordPlans::plan_values(const BlockInfo& block, const BlockTable& table, RecordPlan& plan) {
    if (block.level == TraceLevel::references) return plan_references(block, table, plan);
    plan.words = block.value_words;
    const auto rows = table.slots_of(block);
    if (rows.size() != block.slots || rows.size() > max_slots - slots_.size()) return false;
    rows_.assign(rows.begin(), rows.end());
    lowest_words_.clear();
    const auto first_slot = static_cast<std::uint32_t>(slots_.size());
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        word += rows_[i].words;
        if (!is_plausible(rows_[i], std::span(rows_).first(i), block) || word > plan.words)
            return false;
        const bool derived = rows_[i].words == 0 && rows_[i].source != ValueSlot::no_source;
        lowest_words_.push_back(derived ? lowest_words_[rows_[i].source]
                                        : static_cast<std::uint16_t>(word));
        plan_slot(rows_[i], tokens_[plan.first_block], lowest_words_.back());
    }
    const auto slots = static_cast<std::uint32_t>(slots_.size()) - first_slot;
    if (slots != 0) {
        plan.first_valued = static_cast<std::uint32_t>(valued_.size());
        plan.valued = 1;
        valued_.push_back({.first_slot = first_slot, .slots = slots});
    }
    return word == plan.words;
}

bool RecordPlans::plan_references(const BlockInfo& block, const BlockTable& table,
                                  RecordPlan& plan) {
    plan.references = true;
    plan.words = block.value_words;
    const auto rows = table.references_of(block);
    if (rows.size() != block.slots || rows.size() > max_slots - references_.size()) return false;
    reference_rows_.assign(rows.begin(), rows.end());
    lowest_words_.clear();
    const auto first_slot = static_cast<std::uint32_t>(references_.size());
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < reference_rows_.size(); ++i) {
        const ReferenceSlot& row = reference_rows_[i];
        word += row.words;
        if (!is_plausible(row, std::span(reference_rows_).first(i), block) || word > plan.words)
            return false;
        const bool derived = row.source != ReferenceSlot::no_source;
        lowest_words_.push_back(
            static_cast<std::uint16_t>(derived ? lowest_words_[row.source] : row.words * word));
        plan_reference(i, tokens_[plan.first_block], block.start);
    }
    const bool enters_kernel =
        block.terminator == Terminator::syscall || block.terminator == Terminator::single_stepped;
    plan.first_valued = static_cast<std::uint32_t>(valued_.size());
    plan.valued = 1;
    valued_.push_back({.first_slot = first_slot,
                       .slots = static_cast<std::uint32_t>(references_.size()) - first_slot,
                       .instructions = block.instructions,
                       .enters_kernel = enters_kernel});
    return word == plan.words;
}

// If there are too many sites, the reference has no bytes and only affects registers.
void RecordPlans::plan_reference(std::size_t row, BlockToken token, GuestAddress start) {
    if (!sites_) return;
    const ReferenceSlot& slot = reference_rows_[row];
    const auto word = lowest_words_[row];
    const CodeLocation block = blocks_[token].start;
    const auto site = sites_->number({block.module, block.address + slot.instruction_offset});
    auto address = static_cast<std::uint64_t>(std::int64_t{slot.addend});
    if (word == 0) address += start.value;
    const bool begins = row == 0 || reference_rows_[row - 1].instruction != slot.instruction;
    references_.push_back({.reference = {.address = address,
                                         .instruction = slot.instruction,
                                         .site = site.value_or(0),
                                         .bytes = site ? slot.bytes : std::uint16_t{0},
                                         .flags = slot.flags,
                                         .address_registers = slot.address_registers,
                                         .read = slot.read,
                                         .written = slot.written,
                                         .begins = begins},
                           .word = word});
}

// Plans one of `rows_`. If there are too many sites, the slot is not profiled.
void RecordPlans::plan_slot(const ValueSlot& slot, BlockToken token, std::uint32_t lowest_word) {
    if (!values_) return;
    const CodeLocation start = blocks_[token].start;
    const auto site = registry_.site_id({{start.module, start.address + slot.instruction_offset},
                                         slot.reg,
                                         slot.width_bytes,
                                         canonical(slot.type, slot.width_bytes)});
    if (!site) return;
    SlotPlan plan{.site = values_->index(*site, slot.width_bytes > ValueBank::narrow_bytes),
                  .lowest_word = static_cast<std::uint16_t>(lowest_word),
                  .traced_bytes = slot.width_bytes,
                  .width_bytes = slot.width_bytes};
    if (slot.words == 0) {
        plan.addend = slot.addend;
        plan.traced_bytes =
            slot.source == ValueSlot::no_source ? std::uint8_t{0} : rows_[slot.source].width_bytes;
    }
    slots_.push_back(plan);
}

bool RecordPlans::plan_parts(const BlockInfo& row, const Source& source, RecordPlan& plan) {
    const auto ids = source.table.parts_of(row);
    if (ids.size() != row.parts || row.parts > max_sequence_parts || row.slots != 0) return false;
    std::array<Number, max_sequence_parts> parts;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        parts[i] = learn_part(BlockId(ids[i]), source);
        if (parts[i] == 0 || plans_[parts[i]].references != plans_[parts[0]].references)
            return false;
    }
    plan.first_block = static_cast<std::uint32_t>(tokens_.size());
    plan.first_valued = static_cast<std::uint32_t>(valued_.size());
    for (Number part : std::span(parts).first(ids.size())) append_part(plans_[part], plan);
    return plan.words == row.value_words;
}

// A part must not be a sequence itself, which also limits the recursion.
RecordPlans::Number RecordPlans::learn_part(BlockId id, const Source& source) {
    if (const auto number = known(id)) return plans_[number].sequence ? 0 : number;
    const BlockInfo* row = source.table.find(id);
    if (!row) return 0;
    const BlockInfo block = *row;
    return block.parts == 0 ? learn(id, block, source) : 0;
}

void RecordPlans::append_part(const RecordPlan& part, RecordPlan& plan) {
    tokens_.push_back(BlockToken(tokens_[part.first_block]));
    ++plan.blocks;
    plan.instructions += part.instructions;
    if (part.valued != 0) {
        auto block = valued_[part.first_valued];
        block.number = plan.blocks - 1;
        block.words_before = plan.words;
        plan.references = part.references;
        valued_.push_back(block);
        ++plan.valued;
    }
    plan.words += part.words;
}

}  // namespace shadowprof
