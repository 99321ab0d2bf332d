// How the addresses of one load's executions follow each other.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace shadowprof {

// Counts address differences in constant space, with the summary of Misra and Gries, "Finding
// repeated elements" (1982). A count is too small by at most a fifth of the total weight.
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

// Steps between consecutive executions of one load, weighted.
struct AddressSteps {
    std::uint64_t constant = 0;  // to the same address
    std::uint64_t moved = 0;     // to other addresses
    std::uint64_t chased = 0;    // part of `moved`: to an address that was loaded before
    StrideCounts strides;        // the steps that are counted in `moved`

    // Adds a step. Calls `was_loaded()` only if the address has moved.
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
