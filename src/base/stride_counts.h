// How the addresses of a load follow each other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace shadowprof {

// Differences by how often they were seen: the summary of Misra and Gries, "Finding repeated
// elements" (1982), in constant space. A count is too small by a fifth of all at most.
class StrideCounts {
  public:
    struct Entry {
        std::int64_t stride = 0;
        std::uint64_t count = 0;
    };
    static constexpr std::size_t entries = 4;

    void add(std::int64_t stride, std::uint64_t weight);
    const std::array<Entry, entries>& all() const { return entries_; }
    Entry most() const { return *std::ranges::max_element(entries_, {}, &Entry::count); }

  private:
    std::array<Entry, entries> entries_{};
};

// Executions of one load behind another one of it.
struct AddressSteps {
    std::uint64_t constant = 0;  // at the same address as the one before
    std::uint64_t moved = 0;     // at others
    std::uint64_t chased = 0;    // of these, at one that was loaded
    StrideCounts strides;        // of those that moved

    // `was_loaded()` is asked of an address that has moved.
    template <typename WasLoaded>
    void take(std::uint64_t from, std::uint64_t to, std::uint64_t weight, WasLoaded was_loaded) {
        if (from == to) {
            constant += weight;
            return;
        }
        moved += weight;
        if (was_loaded()) chased += weight;
        strides.add(static_cast<std::int64_t>(to - from), weight);
    }
};

}  // namespace shadowprof
