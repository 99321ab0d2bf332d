// Which of many ranges of addresses an address belongs to.
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

// Ranges may nest and overlap in any way: an address belongs to the range that starts last before
// it, of those that start together to the shortest, of equal ones to the one given last.
class RangeIndex {
  public:
    RangeIndex() = default;
    explicit RangeIndex(std::vector<OwnedRange> ranges);

    // The owner of `address`. Takes logarithmic time, whatever the ranges were.
    std::optional<std::uint32_t> find(std::uint64_t address) const;

    // What has an owner, by rising address, without overlaps.
    const std::vector<OwnedRange>& pieces() const { return pieces_; }
    // The pieces that overlap a range.
    std::span<const OwnedRange> pieces(std::uint64_t start, std::uint64_t end) const;

  private:
    std::vector<OwnedRange> pieces_;  // sorted, disjoint
};

}  // namespace shadowprof
