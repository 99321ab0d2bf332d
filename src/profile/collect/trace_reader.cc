#include "profile/collect/trace_reader.h"

#include <algorithm>
#include <cstring>

#include "base/value_type.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t mask_of(unsigned bytes) {
    return low_bytes(~std::uint64_t{0}, bytes);
}

constexpr std::uint64_t sign_extended(std::int32_t value) {
    return static_cast<std::uint64_t>(std::int64_t{value});
}

// The words of a wide value lie in memory as the register was stored: the lowest word at the lowest
// address.
WideValue wide_value(const void* lowest, std::size_t width_bytes) {
    WideValue value{};
    std::memcpy(value.data(), lowest, width_bytes);
    return value;
}

}  // namespace

TraceReader::TraceReader(BlockRegistry& registry, BlockView& blocks, ValueBank* values,
                         ReferenceCollector* references)
    : values_(values),
      references_(references),
      plans_(registry, blocks, values, references ? &references->sites() : nullptr) {}

void TraceReader::new_emulator() {
    plans_.clear();
    lengths_.clear();
    noted_.clear();
}

void TraceReader::begin(AddressResolver& resolver) {
    resolver_ = &resolver;
    begin_ = left_ = 0;
    free_ = window_.size();
    ended_ = true;
    damaged_ = false;
    in_references_ = false;
    level_ = TraceLevel::blocks;
}

void TraceReader::open(std::span<const std::uint64_t> words, const BlockTable& table) {
    table_ = &table;
    rest_ = words;
    ended_ = words.empty();
    // The beginning of a record that goes on in this batch is in the window.
    if (left_ != begin_) return;
    copied_ = false;
    words_ = words.data();
    begin_ = 0;
    left_ = words.size();
}

std::optional<TraceRecord> TraceReader::read(std::optional<RecordFollower::Position> place) {
    while (left_ != begin_ || copy_more()) {
        const std::uint64_t id = words_[left_ - 1];
        const auto* plan = resolver_ ? plans_.find(id, *table_, *resolver_) : nullptr;
        if (!plan) {
            damaged_ = true;
            return std::nullopt;
        }
        if (!plan->has_values() || (copied_ && plan->words < left_ - begin_))
            return pass(static_cast<std::uint32_t>(id), *plan, place.value_or(nowhere));
        // The word must be read again in the window, as only there it cannot change.
        if (!copy_more()) break;
    }
    return std::nullopt;
}

TraceRecord TraceReader::pass(std::uint32_t id, const RecordPlan& plan, Position place) {
    if (id >= lengths_.size()) {
        lengths_.resize(std::max<std::size_t>(id + 1, 2 * lengths_.size()));
        noted_.resize(lengths_.size());
    }
    lengths_[id] = 1 + plan.words;
    noted_[id].references = plan.references;
    if (plan.has_values())
        note_row(id, {static_cast<std::uint32_t>(left_ - 1), place});
    else
        in_references_ = false;
    level_ = level_of(plan.has_values(), plan.references);
    left_ -= lengths_[id];
    return {.id = id,
            .first_block = plan.first_block,
            .blocks = plan.blocks,
            .instructions = plan.instructions,
            .has_values = plan.has_values()};
}

// Continues in the window with more of the batch. Returns false if there is no more.
bool TraceReader::copy_more() {
    if (!copied_) rest_ = rest_.first(left_);
    if (rest_.empty()) {
        ended_ = true;
        return false;
    }
    if (!copied_) start_copying();
    if (rest_.size() > free_) make_space();
    const auto words = rest_.last(std::min(rest_.size(), free_));
    free_ -= words.size();
    std::copy(words.begin(), words.end(), window_.begin() + static_cast<std::ptrdiff_t>(free_));
    rest_ = rest_.first(rest_.size() - words.size());
    begin_ = free_;
    return true;
}

void TraceReader::start_copying() {
    if (window_.empty()) {
        window_.resize(window_words);
        free_ = window_words;
    }
    copied_ = true;
    words_ = window_.data();
    begin_ = left_ = free_;
}

// Keeps only unread words in the window.
void TraceReader::make_space() {
    hand_on_values();
    const auto at = [&](std::size_t i) { return window_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::copy_backward(at(begin_), at(left_), window_.end());
    begin_ = free_ = window_.size() - (left_ - begin_);
    left_ = window_.size();
}

void TraceReader::hand_on_values() {
    for (const auto id : noted_ids_) {
        hand_on_rows(id);
        noted_[id].room = 0;
    }
    noted_ids_.clear();
    rows_.clear();
}

// Makes room for one more row. If the room is at its maximum, the rows are passed on.
void TraceReader::make_room(std::uint32_t id) {
    Noted& noted = noted_[id];
    if (noted.room == max_rows) return hand_on_rows(id);
    if (noted.room == 0) noted_ids_.push_back(id);
    noted.room = noted.room == 0 ? first_rows : static_cast<std::uint16_t>(4 * noted.room);
    const auto old = noted.first_row;
    noted.first_row = static_cast<std::uint32_t>(rows_.size());
    rows_.resize(rows_.size() + noted.room);
    std::copy_n(rows_.begin() + old, noted.rows, rows_.begin() + noted.first_row);
}

void TraceReader::hand_on_references(std::uint32_t id, Row row) {
    if (!references_) return;
    if (!in_references_) references_->begin_burst();
    in_references_ = true;
    references_->take(plans_, plans_[id], &window_[row.id]);
}

void TraceReader::hand_on_rows(std::uint32_t id) {
    Noted& noted = noted_[id];
    const RecordPlan plan = plans_[id];
    const auto rows = std::span(rows_).subspan(noted.first_row, noted.rows);
    if (callers_) sort_by_caller(id, plan, rows);
    for (const auto& block : plans_.valued_blocks(plan)) {
        find_runs(block.number);
        for (const SlotPlan& slot : plans_.slots(block)) {
            const std::size_t distance = block.words_before + slot.lowest_word;
            if (slot.width_bytes <= ValueBank::narrow_bytes)
                hand_on_narrow(slot, distance, rows);
            else
                hand_on_wide(slot, distance, rows);
        }
    }
    noted.rows = 0;
}

// Sorts the rows so that those whose blocks have the same callers are adjacent.
void TraceReader::sort_by_caller(std::uint32_t id, const RecordPlan& plan, std::span<Row> rows) {
    const auto blocks = std::span(tokens()).subspan(plan.first_block, plan.blocks);
    struct Sorted {
        CallerGroup group;
        Row row;
    };
    std::array<Sorted, max_rows> sorted;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Position place = rows[i].place;
        if (i != 0 && place == rows[i - 1].place)
            sorted[i] = {sorted[i - 1].group, rows[i]};
        else if (place == nowhere)
            sorted[i] = {{}, rows[i]};
        else
            sorted[i] = {{.callers = callers_->find(place, id, blocks), .known = true}, rows[i]};
    }
    const auto before = [](const Sorted& a, const Sorted& b) {
        return std::pair(a.group.known, a.group.callers) <
               std::pair(b.group.known, b.group.callers);
    };
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(rows.size());
    if (!std::is_sorted(sorted.begin(), end, before)) std::stable_sort(sorted.begin(), end, before);
    groups_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = sorted[i].row;
        if (i == 0 || before(sorted[i - 1], sorted[i])) groups_.push_back(sorted[i].group);
        groups_.back().end = static_cast<std::uint32_t>(i + 1);
    }
}

// Sets runs_: the callers of each group in one block.
void TraceReader::find_runs(std::uint32_t block) {
    runs_.clear();
    for (const CallerGroup& group : groups_) {
        const auto caller = group.known ? callers_->caller(group.callers, block) : no_caller;
        if (runs_.empty() || runs_.back().caller != caller) runs_.push_back({caller, 0});
        runs_.back().end = group.end;
    }
}

void TraceReader::hand_on_narrow(const SlotPlan& slot, std::size_t distance,
                                 std::span<const Row> rows) {
    const std::uint64_t addend = sign_extended(slot.addend);
    const std::uint64_t traced = mask_of(slot.traced_bytes);
    const std::uint64_t width = mask_of(slot.width_bytes);
    if (slot.traced_bytes == 0)
        return values_->add_narrow(slot.site, addend & width, rows.size(), runs_);
    std::array<std::uint64_t, max_rows> column;
    for (std::size_t i = 0; i < rows.size(); ++i)
        column[i] = ((window_[rows[i].id - distance] & traced) + addend) & width;
    values_->add_narrow(slot.site, std::span(column).first(rows.size()), runs_);
}

void TraceReader::hand_on_wide(const SlotPlan& slot, std::size_t distance,
                               std::span<const Row> rows) {
    if (slot.traced_bytes == 0) {
        WideValue all;
        all.fill(sign_extended(slot.addend));
        const WideValue value = wide_value(all.data(), slot.width_bytes);
        return values_->add_wide(slot.site, value, rows.size(), runs_);
    }
    wide_column_.clear();
    for (const Row& row : rows)
        wide_column_.push_back(wide_value(&window_[row.id - distance], slot.width_bytes));
    values_->add_wide(slot.site, wide_column_, runs_);
}

}  // namespace shadowprof
