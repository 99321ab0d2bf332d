// Finds which of many ranges an address belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shadowprof {

struct OwnedRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last address
    std::uint32_t owner = 0;
};

// Ranges may nest and overlap in any way. An address belongs to the range around it that starts
// last; of those that start together to the shortest, and of equal ones to the last given.
class RangeIndex {
  public:
    RangeIndex() = default;
    explicit RangeIndex(std::vector<OwnedRange> ranges);

    // The owner of `address`. Takes logarithmic time for any set of ranges.
    std::optional<std::uint32_t> find(std::uint64_t address) const;

    // All owned ranges, by ascending address, without overlaps.
    const std::vector<OwnedRange>& pieces() const { return pieces_; }
    // The pieces that overlap a range.
    std::span<const OwnedRange> pieces(std::uint64_t start, std::uint64_t end) const;

  private:
    std::vector<OwnedRange> pieces_;  // sorted, disjoint
};

}  // namespace shadowprof
