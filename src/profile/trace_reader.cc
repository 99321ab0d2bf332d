#include "profile/trace_reader.h"

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

// Records that read_plain() looks at together.
constexpr std::ptrdiff_t group = 8;

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
    meanings_.assign(1, 0);
    plans_.assign(1, {});
    slots_.clear();
    pending_.clear();
}

void TraceReader::begin(AddressResolver& resolver) {
    resolver_ = &resolver;
    pending_.clear();
    damaged_ = false;
}

std::size_t TraceReader::read(std::span<const std::uint64_t>& words, const BlockTable& table,
                              std::span<BlockToken> out) {
    Cursor cursor{words.data(), words.data() + words.size(), out.data(), out.data() + out.size()};
    if (!pending_.empty()) finish_pending(cursor);
    bool plain = true;
    while (!damaged_ && cursor.end != cursor.begin && cursor.out != cursor.out_end) {
        if (plain) read_plain(cursor);
        if (cursor.end == cursor.begin || cursor.out == cursor.out_end) break;
        plain = read_record(cursor, table);
    }
    words = words.first(static_cast<std::size_t>(cursor.end - cursor.begin));
    return static_cast<std::size_t>(cursor.out - out.data());
}

// The fast way, for as long as records have no values and ids are known.
void TraceReader::read_plain(Cursor& cursor) const {
    const Meaning* const meanings = meanings_.data();
    const std::uint64_t beyond = meanings_.size() - 1;
    const std::uint64_t* end = cursor.end;
    BlockToken* out = cursor.out;
    while (end - cursor.begin >= group && cursor.out_end - out >= group) {
        Meaning special = 0;
        for (std::ptrdiff_t i = 0; i < group; ++i) {
            const std::uint64_t id = end[-1 - i];
            const Meaning meaning = meanings[id < beyond ? id : beyond];
            special |= meaning - 1;  // has the top bit for 0, and for plans other than number 0
            out[i] = meaning;
        }
        if (special & has_values) break;
        end -= group;
        out += group;
    }
    cursor.end = end;
    cursor.out = out;
}

// Any record. True if it had no values. Needs words and room.
bool TraceReader::read_record(Cursor& cursor, const BlockTable& table) {
    const std::uint64_t id = *--cursor.end;
    Meaning what = meaning(id);
    if (what == 0) what = learn(id, table);
    if (what == 0) {
        damaged_ = true;
        return false;
    }
    if (what & has_values) {
        pending_plan_ = what & ~has_values;
        read_values(cursor, plans_[pending_plan_]);
        return false;
    }
    *cursor.out++ = what;
    return true;
}

void TraceReader::read_values(Cursor& cursor, const RecordPlan& plan) {
    const auto available = static_cast<std::size_t>(cursor.end - cursor.begin);
    if (available < plan.words) {
        pending_.assign(cursor.begin, cursor.end);
        pending_.push_back(0);  // where the id was
        cursor.end = cursor.begin;
        return;
    }
    record(plan, cursor.end);
    cursor.end -= plan.words;
    *cursor.out++ = plan.token;
}

void TraceReader::finish_pending(Cursor& cursor) {
    if (cursor.out == cursor.out_end) return;
    const RecordPlan& plan = plans_[pending_plan_];
    const std::size_t missing = plan.words - (pending_.size() - 1);
    const std::size_t available =
        std::min(missing, static_cast<std::size_t>(cursor.end - cursor.begin));
    cursor.end -= available;
    pending_.insert(pending_.begin(), cursor.end, cursor.end + available);
    if (available < missing) return;
    record(plan, pending_.data() + plan.words);
    pending_.clear();
    *cursor.out++ = plan.token;
}

// Hands on the values of a record whose id is at `id`.
void TraceReader::record(const RecordPlan& plan, const std::uint64_t* id) {
    for (std::uint32_t i = 0; i < plan.slots; ++i) {
        const SlotPlan& slot = slots_[plan.first_slot + i];
        const std::uint64_t* lowest = id - slot.lowest_word;
        if (slot.width_bytes <= ValueBank::narrow_bytes)
            values_->add_narrow(slot.index, low_bytes(*lowest, slot.width_bytes));
        else
            values_->add_wide(slot.index, wide_value(lowest, slot.width_bytes));
    }
}

// The meaning of an id that is met for the first time; 0 if it has none.
TraceReader::Meaning TraceReader::learn(std::uint64_t id, const BlockTable& table) {
    const BlockInfo* row = table.find(id);
    if (!row || !resolver_) return 0;
    const BlockInfo block = *row;
    if (!is_plausible(block)) return 0;
    const auto token = registry_.token(block, *resolver_);
    if (!token) return 0;
    blocks_.learn(*token);
    Meaning what = *token;
    if (block.value_words != 0) {
        const auto slots = table.slots_of(block);
        if (slots.size() != block.slots) return 0;
        const auto plan = plan_values(*token, block, slots);
        if (!plan) return 0;
        what = *plan;
    }
    if (id >= meanings_.size() - 1) meanings_.resize(std::max(2 * meanings_.size(), id + 2));
    return meanings_[id] = what;
}

std::optional<TraceReader::Meaning> TraceReader::plan_values(BlockToken token,
                                                             const BlockInfo& block,
                                                             std::span<const ValueSlot> slots) {
    RecordPlan plan{token, block.value_words, static_cast<std::uint32_t>(slots_.size()), 0};
    std::uint32_t word = 0;
    for (const ValueSlot& row : slots) {
        const ValueSlot slot = row;
        word += slot.words;
        if (!is_plausible(slot, block) || word > block.value_words) return std::nullopt;
        const auto planned = plan_slot(slot, token, word);
        if (values_ && planned) slots_.push_back(*planned);
    }
    if (word != block.value_words) return std::nullopt;
    plan.slots = static_cast<std::uint32_t>(slots_.size()) - plan.first_slot;
    plans_.push_back(plan);
    return has_values | static_cast<Meaning>(plans_.size() - 1);
}

// Nothing if there are too many sites: this one goes unprofiled.
std::optional<TraceReader::SlotPlan> TraceReader::plan_slot(const ValueSlot& slot, BlockToken token,
                                                            std::uint32_t word) {
    if (!values_) return std::nullopt;
    const CodeLocation start = blocks_[token].start;
    const auto site = registry_.site_id(
        {{start.module, start.address + slot.instruction_offset}, slot.reg, slot.width_bytes});
    if (!site) return std::nullopt;
    return SlotPlan{word, slot.width_bytes,
                    values_->index(*site, slot.width_bytes > ValueBank::narrow_bytes)};
}

}  // namespace shadowprof
