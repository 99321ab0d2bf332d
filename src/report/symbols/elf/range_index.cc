#include "report/symbols/elf/range_index.h"

#include <algorithm>

namespace shadowprof {
namespace {

// Cuts ranges into disjoint pieces while sweeping over them by start.
class Sweep {
  public:
    // Disjoint ranges make one piece each.
    explicit Sweep(std::size_t ranges) { pieces_.reserve(ranges); }
    void enter(const OwnedRange& range) {
        emit_until(range.start);
        if (range.start < range.end) open_.push_back(range);
    }
    std::vector<OwnedRange> finish() {
        emit_until(UINT64_MAX);
        return std::move(pieces_);
    }

  private:
    // Gives everything from at_ to `until` to the open ranges, the last entered first.
    void emit_until(std::uint64_t until) {
        while (!open_.empty() && at_ < until) {
            const OwnedRange& top = open_.back();
            std::uint64_t end = std::min(top.end, until);
            if (end > at_) pieces_.push_back({at_, end, top.owner});
            at_ = std::max(at_, end);
            if (top.end <= at_) open_.pop_back();
        }
        at_ = until;
    }

    std::vector<OwnedRange> open_;
    std::vector<OwnedRange> pieces_;
    std::uint64_t at_ = 0;
};

}  // namespace

RangeIndex::RangeIndex(std::vector<OwnedRange> ranges) {
    const auto comes_before = [](const OwnedRange& a, const OwnedRange& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    };
    if (!std::ranges::is_sorted(ranges, comes_before))
        std::ranges::stable_sort(ranges, comes_before);
    Sweep sweep(ranges.size());
    for (const OwnedRange& range : ranges) sweep.enter(range);
    pieces_ = sweep.finish();
}

std::optional<std::uint32_t> RangeIndex::find(std::uint64_t address) const {
    auto it =
        std::upper_bound(pieces_.begin(), pieces_.end(), address,
                         [](std::uint64_t a, const OwnedRange& piece) { return a < piece.start; });
    if (it == pieces_.begin() || address >= std::prev(it)->end) return std::nullopt;
    return std::prev(it)->owner;
}

std::span<const OwnedRange> RangeIndex::pieces(std::uint64_t start, std::uint64_t end) const {
    const auto first =
        std::upper_bound(pieces_.begin(), pieces_.end(), start,
                         [](std::uint64_t a, const OwnedRange& piece) { return a < piece.end; });
    const auto last =
        std::lower_bound(first, pieces_.end(), end,
                         [](const OwnedRange& piece, std::uint64_t a) { return piece.start < a; });
    return {first, last};
}

}  // namespace shadowprof
