// Hash tables: open addressing, no deletion, sizes that are powers of two.
#pragma once

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "profile/code_location.h"
#include "profile/statistics/random.h"

namespace shadowprof {

// Maps hashes to indices of a vector's elements. The caller keeps the elements and compares them.
// Only the upper 32 bits of a hash count.
class IndexTable {
  public:
    // Returns the index inserted under `hash` for which `equal(index)` holds.
    template <typename Equal>
    std::optional<std::uint32_t> find(std::uint64_t hash, Equal&& equal) const {
        if (slots_.empty()) return std::nullopt;
        const auto tag = tag_of(hash);
        for (std::size_t at = tag & mask();; at = (at + 1) & mask()) {
            const Slot& slot = slots_[at];
            if (slot.index_plus_1 == 0) return std::nullopt;
            if (slot.tag == tag && equal(slot.index_plus_1 - 1)) return slot.index_plus_1 - 1;
        }
    }
    // Needs: no equal element was inserted; `index` < 2^32 - 1.
    void insert(std::uint64_t hash, std::size_t index) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        place({tag_of(hash), static_cast<std::uint32_t>(index + 1)});
        ++used_;
    }
    void clear() {
        slots_.assign(slots_.size(), {});
        used_ = 0;
    }

  private:
    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t index_plus_1 = 0;
    };

    static std::uint32_t tag_of(std::uint64_t hash) {
        return static_cast<std::uint32_t>(hash >> 32);
    }
    std::size_t mask() const { return slots_.size() - 1; }
    void place(Slot slot) {
        std::size_t at = slot.tag & mask();
        while (slots_[at].index_plus_1 != 0) at = (at + 1) & mask();
        slots_[at] = slot;
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.index_plus_1 != 0) place(slot);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

// Counts by 64-bit key.
class CountTable {
  public:
    // Returns the number of the key's entry. Entries are numbered in the order in which their keys
    // were first seen. Returns nothing if the key is new and there are `max_keys` already.
    std::optional<std::uint32_t> find_or_add(std::size_t max_keys, std::uint64_t key) {
        const std::uint64_t hash = mix64(key);
        auto found = index_.find(hash, [&](std::uint32_t i) { return entries_[i].key == key; });
        if (found || entries_.size() >= max_keys) return found;
        index_.insert(hash, entries_.size());
        entries_.push_back({key, 0});
        return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    void add(std::uint32_t entry, std::uint64_t count) { entries_[entry].count += count; }
    std::uint64_t count(std::uint64_t key) const {
        auto found =
            index_.find(mix64(key), [&](std::uint32_t i) { return entries_[i].key == key; });
        return found ? entries_[*found].count : 0;
    }
    struct Entry {
        std::uint64_t key;
        std::uint64_t count;
    };
    // Indexed by number.
    const std::vector<Entry>& entries() const { return entries_; }

  private:
    std::vector<Entry> entries_;
    IndexTable index_;
};

constexpr std::uint64_t location_hash(CodeLocation location) {
    return mix64(location.address ^ std::uint64_t{location.module} << 48);
}
// Differs from process to process, so that nobody can write a profile whose entries all have the
// same hash.
inline std::uint64_t hash_seed() {
    static const std::uint64_t seed = [] {
        std::uint64_t bytes = 0;
        // The kernel gives each process 16 random bytes (getauxval(3)).
        if (const auto* random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM)))
            std::memcpy(&bytes, random, sizeof(bytes));
        return bytes;
    }();
    return seed;
}
// The hash of a sequence, from hash_seed() or from the hash of what comes before.
constexpr std::uint64_t locations_hash(std::uint64_t hash,
                                       std::span<const CodeLocation> locations) {
    for (const CodeLocation at : locations) hash = mix64(hash ^ at.address) + at.module;
    return mix64(hash);
}

}  // namespace shadowprof
