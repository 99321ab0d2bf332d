// The few values that a counting sample counts, made for adding many values at a time.
//
// A look-up takes no branch and no second try: a byte of a table, at the value's hash, names the
// one entry that can hold the value. This works because no two entries have the same hash: if a new
// entry would collide, another hash function is chosen. The functions are multiply-shift hashes
// (Dietzfelbinger et al., J. Algorithms 25, 1997). A random one makes a given pair of values
// collide with a probability of at most two divided by the number of bytes. For wide values the
// hash is the sum of their half-words, each multiplied by a random number (Lemire and Kaser,
// "Strongly universal string hashing is fast", Computer Journal 57, 2014). Whole words with odd
// factors would not do: values whose upper bits differ in two words would have the same hash with
// any factors.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/kinds/values/hotlist.h"
#include "profile/statistics/random.h"

namespace shadowprof {

// `seed` chooses one of the hash functions. The upper bits are the hash.
inline std::uint64_t value_hash(std::uint64_t value, std::uint64_t seed) {
    return value * (seed | 1);
}
inline std::uint64_t value_hash(const WideValue& value, std::uint64_t seed) {
    std::uint64_t hash = 0;
    for (std::uint64_t word : value) {
        hash += (word & 0xffff'ffff) * (seed = mix64(seed));
        hash += (word >> 32) * (seed = mix64(seed));
    }
    return hash;
}

template <typename Value>
class HotValues {
  public:
    using Entry = std::size_t;  // a number below size()
    static constexpr std::size_t max_size = 256;

    std::size_t size() const { return entries_.size(); }
    const Value& value(Entry entry) const { return entries_[entry].value; }
    std::uint64_t count(Entry entry) const {
        return entries_[entry].counts[0] + entries_[entry].counts[1];
    }
    std::optional<Entry> find(const Value& value) const {
        if (entries_.empty()) return std::nullopt;
        const Entry entry = places_[place_of(value)];
        if (entries_[entry].value != value) return std::nullopt;
        return entry;
    }

    void add(Entry entry, std::uint64_t times) { entries_[entry].counts[0] += times; }
    // Counts each value of the column that has an entry. Returns the number of values without one.
    std::size_t add(std::span<const Value> column) { return look_up<1>(column); }
    // Reverts add() of the same column.
    void take_back(std::span<const Value> column) { look_up<-1>(column); }

    // Inserts a value that was seen once. Needs: it has no entry; size() < max_size.
    void insert(const Value& value) {
        entries_.push_back({value, {1, 0}});
        const std::size_t wanted = places_per_entry * std::bit_ceil(entries_.size());
        if (places_.size() < wanted || !place(entries_.size() - 1)) rebuild(wanted);
    }
    // Subtracts `loss_of()` from the count of each entry, in the order of their numbers. Entries
    // that lose all are removed, and those behind them move up.
    template <typename LossOf>
    void thin(LossOf&& loss_of) {
        for (auto& entry : entries_) {
            const std::uint64_t count = entry.counts[0] + entry.counts[1];
            entry.counts = {count - std::min(count, loss_of()), 0};
        }
        if (std::erase_if(entries_, [](const auto& entry) { return entry.counts[0] == 0; }) != 0)
            rebuild(places_.size());
    }

  private:
    // Large enough that one in a few hash functions has no collisions.
    static constexpr std::size_t places_per_entry = 8;

    struct Counted {
        Value value{};
        // The value's count is their sum. There are two so that the additions for a value that
        // comes each time need not wait for each other.
        std::array<std::uint64_t, 2> counts{};
    };

    std::size_t place_of(const Value& value) const { return value_hash(value, seed_) >> shift_; }

    // Adds `step` to the count of each value that has an entry. Returns the number of values
    // without one.
    template <int step>
    std::size_t look_up(std::span<const Value> column) {
        if (entries_.empty()) return column.size();
        // Copies, as the compiler cannot exclude that counting changes the originals.
        Counted* const entries = entries_.data();
        const std::uint8_t* const places = places_.data();
        const std::uint64_t seed = seed_;
        const unsigned shift = shift_;
        std::size_t found = 0;
        const auto count = [&](const Value& value, std::size_t which) {
            Counted& entry = entries[places[value_hash(value, seed) >> shift]];
            const bool hit = entry.value == value;
            entry.counts[which] += static_cast<std::uint64_t>(step * hit);
            found += hit;
        };
        std::size_t i = 0;
        for (; i + 2 <= column.size(); i += 2) {
            count(column[i], 0);
            count(column[i + 1], 1);
        }
        if (i < column.size()) count(column[i], 0);
        return column.size() - found;
    }

    // Returns false if another entry has the place. A place without an entry names entry 0, which
    // is harmless, as its value does not compare equal.
    bool place(Entry entry) {
        const std::size_t at = place_of(entries_[entry].value);
        if (places_[at] != 0 || (entry != 0 && at == place_of(entries_[0].value))) return false;
        places_[at] = static_cast<std::uint8_t>(entry);
        return true;
    }
    bool place_all() {
        std::fill(places_.begin(), places_.end(), 0);
        for (Entry entry = entries_.size(); entry-- > 0;)
            if (!place(entry)) return false;
        return true;
    }
    // Doubles the size after many failures, so that no set of values can keep this going.
    void rebuild(std::size_t places) {
        for (int tries = 0;; ++tries) {
            if (tries == 64) places *= 2, tries = 0;
            if (places_.size() != places) {
                places_.assign(places, 0);
                shift_ = static_cast<unsigned>(64 - std::countr_zero(places));
            }
            if (place_all()) return;
            seed_ = mix64(seed_);
        }
    }

    std::vector<Counted> entries_;
    std::vector<std::uint8_t> places_;  // by hash: the entry that may hold the value
    std::uint64_t seed_ = 0x9e3779b97f4a7c15;
    unsigned shift_ = 0;
};

}  // namespace shadowprof
