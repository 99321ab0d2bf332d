// Differences by how often they were seen: the summary of Misra and Gries, "Finding repeated
// elements" (1982), in constant space.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace shadowprof {

// A difference's count is too small by a fifth of all at most.
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

}  // namespace shadowprof
