#include "profile/trace_reader.h"

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

constexpr std::uint64_t low_bytes(std::uint64_t word, unsigned bytes) {
    return bytes >= 8 ? word : word & ((std::uint64_t{1} << 8 * bytes) - 1);
}

// A wide value's words lie in memory as the register was stored: the lowest at the lowest address.
WideValue wide_value(const std::uint64_t* lowest, std::size_t width_bytes) {
    WideValue value{};
    std::memcpy(value.data(), lowest, width_bytes);
    return value;
}

}  // namespace

TraceReader::TraceReader(BlockRegistry& registry, BlockView& blocks, ValueBank* values)
    : registry_(registry), blocks_(blocks), values_(values) {
    new_emulator();
}

void TraceReader::new_emulator() {
    plan_by_id_.clear();
    plans_.assign(1, {});
    slots_.clear();
    tokens_.clear();
    pending_.clear();
}

void TraceReader::begin(AddressResolver& resolver) {
    resolver_ = &resolver;
    pending_.clear();
    damaged_ = false;
}

std::optional<TraceRecord> TraceReader::read(std::span<const std::uint64_t>& words,
                                             const BlockTable& table) {
    if (damaged_ || words.empty()) return std::nullopt;
    const std::uint64_t id = pending_.empty() ? words.back() : pending_.back();
    const auto number = plan_of(id, table);
    if (number == 0) {
        damaged_ = true;
        return std::nullopt;
    }
    const RecordPlan& plan = plans_[number];
    if (plan.words == 0 && plan.slots == 0) {
        words = words.first(words.size() - 1);
    } else {
        const auto missing = 1 + plan.words - pending_.size();
        const auto taken = std::min(missing, words.size());
        pending_.insert(pending_.begin(), words.end() - static_cast<std::ptrdiff_t>(taken),
                        words.end());
        words = words.first(words.size() - taken);
        if (taken < missing) return std::nullopt;
        hand_on_values(plan);
        pending_.clear();
    }
    return TraceRecord{.id = static_cast<std::uint32_t>(id),
                       .first_block = plan.first_block,
                       .blocks = plan.blocks,
                       .instructions = plan.instructions,
                       .has_values = plan.words != 0 || plan.slots != 0};
}

// Those of the record in `pending_`.
void TraceReader::hand_on_values(const RecordPlan& plan) {
    const std::uint64_t* id = &pending_.back();
    for (const SlotPlan& slot : std::span(slots_).subspan(plan.first_slot, plan.slots)) {
        const std::uint64_t* lowest = id - slot.lowest_word;
        if (slot.width_bytes > ValueBank::narrow_bytes) {
            values_->add_wide(slot.index, wide_value(lowest, slot.width_bytes));
            continue;
        }
        const auto source = slot.lowest_word == 0 ? 0 : low_bytes(*lowest, slot.source_bytes);
        const auto sum = source + static_cast<std::uint64_t>(std::int64_t{slot.addend});
        values_->add_narrow(slot.index, low_bytes(sum, slot.width_bytes));
    }
}

// The number of the plan for an id; 0 if it means nothing.
std::uint32_t TraceReader::plan_of(std::uint64_t id, const BlockTable& table) {
    if (id < plan_by_id_.size() && plan_by_id_[id] != 0) return plan_by_id_[id];
    const BlockInfo* row = table.find(id);
    if (!row || !resolver_) return 0;
    const auto plan = learn(BlockInfo(*row), table);
    if (!plan) return 0;
    plans_.push_back(*plan);
    if (id >= plan_by_id_.size())
        plan_by_id_.resize(std::max<std::size_t>(id + 1, 2 * plan_by_id_.size()));
    return plan_by_id_[id] = static_cast<std::uint32_t>(plans_.size() - 1);
}

std::optional<TraceReader::RecordPlan> TraceReader::learn(const BlockInfo& row,
                                                          const BlockTable& table) {
    RecordPlan plan{.first_slot = static_cast<std::uint32_t>(slots_.size()),
                    .first_block = static_cast<std::uint32_t>(tokens_.size())};
    const bool good = row.parts != 0 ? learn_parts(row, table, plan)
                                     : learn_block(row, plan) && learn_values(row, table, plan);
    plan.slots = static_cast<std::uint32_t>(slots_.size()) - plan.first_slot;
    if (!good) return std::nullopt;
    return plan;
}

bool TraceReader::learn_block(const BlockInfo& block, RecordPlan& plan) {
    if (!is_plausible(block)) return false;
    const auto token = registry_.token(block, *resolver_);
    if (!token) return false;
    blocks_.learn(*token);
    tokens_.push_back(*token);
    ++plan.blocks;
    plan.instructions += block.instructions;
    return true;
}

bool TraceReader::learn_parts(const BlockInfo& row, const BlockTable& table, RecordPlan& plan) {
    const auto ids = table.parts_of(row);
    if (ids.size() != row.parts || row.parts > max_sequence_parts) return false;
    for (const BlockId& id : ids) {
        const BlockInfo* part = table.find(id);
        if (!part) return false;
        const BlockInfo block = *part;
        if (block.parts != 0 || block.level != row.level || !learn_block(block, plan) ||
            !learn_values(block, table, plan))
            return false;
    }
    return plan.words == row.value_words;
}

bool TraceReader::learn_values(const BlockInfo& block, const BlockTable& table, RecordPlan& plan) {
    const auto rows = table.slots_of(block);
    if (rows.size() != block.slots) return false;
    std::uint32_t word = 0;
    std::vector<ValueSlot> slots;
    std::vector<std::uint32_t> lowest_words;
    for (const ValueSlot& row : rows) {
        const auto& slot = slots.emplace_back(row);
        word += slot.words;
        if (!is_plausible_last(slots, block) || word > block.value_words) return false;
        const bool has_source = slot.words == 0 && slot.source != ValueSlot::no_source;
        lowest_words.push_back(slot.words != 0 ? plan.words + word
                               : has_source    ? lowest_words[slot.source]
                                               : 0);
        auto planned = plan_slot(slot, tokens_.back());
        if (!planned) continue;
        planned->lowest_word = lowest_words.back();
        planned->addend = slot.words != 0 ? 0 : slot.addend;
        planned->source_bytes = has_source ? slots[slot.source].width_bytes : slot.width_bytes;
        slots_.push_back(*planned);
    }
    plan.words += word;
    return word == block.value_words;
}

// Nothing if there are too many sites: this one goes unprofiled.
std::optional<TraceReader::SlotPlan> TraceReader::plan_slot(const ValueSlot& slot,
                                                            BlockToken token) {
    if (!values_) return std::nullopt;
    const CodeLocation start = blocks_[token].start;
    const auto site = registry_.site_id(
        {{start.module, start.address + slot.instruction_offset}, slot.reg, slot.width_bytes});
    if (!site) return std::nullopt;
    return SlotPlan{.width_bytes = slot.width_bytes,
                    .index = values_->index(*site, slot.width_bytes > ValueBank::narrow_bytes)};
}

}  // namespace shadowprof
