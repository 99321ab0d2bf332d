// Sums of numbered entries, few of which are touched at a time. Finding the touched entries and
// resetting them takes time linear in their number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shadowprof {

template <typename Entry>
class TouchedSums {
  public:
    // Keeps the sums; never shrinks.
    void resize(std::size_t size) {
        if (size > sums_.size()) sums_.resize(size);
    }
    // Needs an entry below the size.
    void add(Entry entry, std::uint64_t more) {
        if (more == 0) return;
        if (sums_[entry] == 0) touched_.push_back(entry);
        sums_[entry] += more;
    }
    // Needs no entry below the size.
    void add_at(Entry entry, std::uint64_t more) {
        if (entry >= sums_.size()) resize(std::max<std::size_t>(entry + 1, 2 * sums_.size()));
        add(entry, more);
    }
    std::uint64_t operator[](Entry entry) const { return sums_[entry]; }
    // The entries that are not zero, in the order in which they were touched.
    std::span<const Entry> touched() const { return touched_; }
    void clear() {
        for (const Entry entry : touched_) sums_[entry] = 0;
        touched_.clear();
    }

  private:
    std::vector<std::uint64_t> sums_;
    std::vector<Entry> touched_;
};

}  // namespace shadowprof
