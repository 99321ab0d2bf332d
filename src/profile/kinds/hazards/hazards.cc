#include "profile/kinds/hazards/hazards.h"

#include <algorithm>
#include <bit>

namespace shadowprof {
namespace {

constexpr std::uint64_t page_size = 4096;

constexpr bool is_ordinary(const Reference& r) {
    return r.bytes != 0 && !r.is(ReferenceSlot::repeated) && !r.is(ReferenceSlot::masked) &&
           !is_state_area(r.bytes);
}

// Whether [a, a + a_bytes) and [b, b + b_bytes) have an address in common, modulo 2^64.
constexpr bool overlap(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b,
                       std::uint64_t b_bytes) {
    return a - b < b_bytes || b - a < a_bytes;
}

// The same for the low 12 bits of the addresses.
constexpr bool overlap_in_page(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b,
                               std::uint64_t b_bytes) {
    return (a - b) % page_size < b_bytes || (b - a) % page_size < a_bytes;
}

}  // namespace

HazardFinder::HazardFinder(const ReorderWindow& window)
    : window_{window.instructions, std::min(window.stores, std::uint32_t{max_stores})} {}

void HazardFinder::forget() {
    by_line_.fill(0);
    registers_.fill(0);
    loaded_ = 0;
}

void HazardFinder::take(const Reference& r, std::uint64_t weight) {
    if (r.begins) loaded_ = 0;
    if (is_ordinary(r)) {
        note_splits(r, weight);
        const bool locked = r.is(ReferenceSlot::locked);
        if (r.is(ReferenceSlot::load) && !locked) load(r, weight);
        if (locked)
            forget();
        else if (r.is(ReferenceSlot::store))
            store(r);
    }
    if (r.is(ReferenceSlot::fence)) forget();
    if (r.written == 0) return;
    const auto result = made_of(r.read) | loaded_;
    for (unsigned rest = r.written; rest != 0; rest &= rest - 1)
        registers_[static_cast<unsigned>(std::countr_zero(rest))] = result;
}

void HazardFinder::note_splits(const Reference& r, std::uint64_t weight) {
    if (r.address % page_size + r.bytes > page_size)
        count(HazardKind::page_split, r.site, r.site, weight);
    else if (r.address % line_bytes + r.bytes > line_bytes)
        count(HazardKind::line_split, r.site, r.site, weight);
}

HazardFinder::Stores HazardFinder::made_of(std::uint16_t registers) const {
    Stores result = 0;
    for (unsigned rest = registers; rest != 0; rest &= rest - 1)
        result |= registers_[static_cast<unsigned>(std::countr_zero(rest))];
    return result;
}

// Returns the places of stores that may share a cache line with the reference. An access of at most
// 64 bytes is in at most two lines.
HazardFinder::Stores HazardFinder::behind(const Reference& r) const {
    const auto first = r.address / line_bytes, last = (r.address + r.bytes - 1) / line_bytes;
    return by_line_[first % lines] | by_line_[last % lines];
}

// Returns the number of the highest bit. Needs a set that is not empty.
unsigned HazardFinder::youngest(Stores turned) {
    const auto high = static_cast<std::uint64_t>(turned >> 64);
    if (high != 0) return 127 - static_cast<unsigned>(std::countl_zero(high));
    return 63 - static_cast<unsigned>(std::countl_zero(static_cast<std::uint64_t>(turned)));
}

void HazardFinder::load(const Reference& r, std::uint64_t weight) {
    const Stores waits_for = made_of(r.address_registers);
    loaded_ |= waits_for;
    // Rotated so that the youngest store's bit is the highest one.
    const auto turn = static_cast<unsigned>(next_store_ % max_stores);
    Stores left = behind(r);
    if (turn != 0) left = left << (max_stores - turn) | left >> turn;
    bool aliased = false;
    while (left != 0) {
        const unsigned place = youngest(left);
        left &= ~bit(place);
        const Store& before = stores_[(place + turn) % max_stores];
        if (next_store_ - before.number > window_.stores ||
            r.instruction - before.instruction >= window_.instructions)
            return;
        const bool counts = (waits_for & bit((place + turn) % max_stores)) == 0;
        if (overlap(r.address, r.bytes, before.address, before.bytes)) {
            const bool has_all = r.address - before.address <= before.bytes &&
                                 r.address - before.address + r.bytes <= before.bytes;
            if (!has_all && counts) count(HazardKind::blocked, before.site, r.site, weight);
            loaded_ |= bit((place + turn) % max_stores) | still_older(before);
            return;
        }
        if (aliased || !overlap_in_page(r.address, r.bytes, before.address, before.bytes)) continue;
        aliased = true;
        if (counts) count(HazardKind::aliased, before.site, r.site, weight);
    }
}

// Returns the stores that `store` is made of, without places that younger stores have taken since.
HazardFinder::Stores HazardFinder::still_older(const Store& store) const {
    Stores result = 0;
    for (Stores rest = store.made_of; rest != 0;) {
        const unsigned place = youngest(rest);
        rest &= ~bit(place);
        if (stores_[place].number < store.number) result |= bit(place);
    }
    return result;
}

void HazardFinder::store(const Reference& r) {
    const auto place = static_cast<unsigned>(next_store_ % max_stores);
    const auto set_lines = [&](std::uint64_t address, std::uint16_t bytes, bool on) {
        for (const auto at : {address, address + bytes - 1}) {
            auto& line = by_line_[at / line_bytes % lines];
            line = on ? line | bit(place) : line & ~bit(place);
        }
    };
    Store& entry = stores_[place];
    if (entry.bytes != 0) set_lines(entry.address, entry.bytes, false);
    for (auto& stores : registers_) stores &= ~bit(place);
    loaded_ &= ~bit(place);
    entry = {.address = r.address,
             .instruction = r.instruction,
             .number = next_store_,
             .site = r.site,
             .bytes = r.bytes,
             .made_of = made_of(r.read) | loaded_};
    set_lines(r.address, r.bytes, true);
    ++next_store_;
}

void HazardFinder::count(HazardKind kind, ReferenceSite first, ReferenceSite second,
                         std::uint64_t weight) {
    const auto hash =
        mix64(mix64(std::uint64_t{first} << 32 | second) + static_cast<unsigned>(kind));
    const auto found = index_.find(hash, [&](std::uint32_t i) {
        const Pair& pair = pairs_[i];
        return pair.kind == kind && pair.first == first && pair.second == second;
    });
    if (found) {
        pairs_[*found].count += weight;
    } else if (pairs_.size() < max_pairs) {
        index_.insert(hash, pairs_.size());
        pairs_.push_back({kind, first, second, weight});
    } else {
        left_out_ += weight;
    }
}

}  // namespace shadowprof
