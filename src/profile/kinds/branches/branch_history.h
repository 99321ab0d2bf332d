// The outcomes of the last branches, folded to the widths of indices and tags.
//
// A fold of width w is the exclusive or of the history's pieces of w bits. A new outcome changes it
// by a shift, as in a cyclic register (Michaud, A PPM-like, tag-based branch predictor, JILP 2005,
// section 2.4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shadowprof {

// One number for each length of history, and two that are not used: a vector register.
inline constexpr std::size_t history_lanes = 8;
typedef std::uint16_t HistoryLanes __attribute__((vector_size(2 * history_lanes)));

class BranchHistory {
  public:
    // The lengths are a geometric series, 5 * 60^(i/5) (Seznec and Michaud, A case for (partially)
    // TAgged GEometric history length branch prediction, JILP 2006, section 3.1).
    static constexpr std::size_t lengths = 6;
    static constexpr std::array<std::uint16_t, lengths> length_bits = {5, 11, 26, 58, 132, 300};
    static constexpr unsigned index_bits = 11;
    static constexpr unsigned tag_bits = 12;

    void push(bool bit) {
        begin_ = (begin_ - 1) % ring_bits;
        ring_[begin_] = ring_[begin_ + ring_bits] = static_cast<std::uint16_t>(-int{bit});
        const HistoryLanes oldest = {oldest_of(0), oldest_of(1), oldest_of(2),
                                     oldest_of(3), oldest_of(4), oldest_of(5)};
        shift<index_bits>(index_, bit, oldest);
        shift<tag_bits>(tag_, bit, oldest);
    }

    // The last length_bits[i] outcomes, folded, in lane i.
    HistoryLanes indices() const { return index_; }
    HistoryLanes tags() const { return tag_; }

  private:
    static constexpr std::size_t ring_bits = 512;
    static_assert(length_bits.back() < ring_bits);

    std::uint16_t oldest_of(std::size_t i) const { return ring_[begin_ + length_bits[i]]; }
    // Shifts an outcome in, and the oldest one of each length out of its place in the fold.
    template <unsigned width>
    static void shift(HistoryLanes& fold, bool bit, HistoryLanes oldest) {
        constexpr auto exit = [](std::size_t i) {
            return static_cast<std::uint16_t>(1u << (length_bits[i] % width));
        };
        constexpr HistoryLanes exits = {exit(0), exit(1), exit(2), exit(3), exit(4), exit(5)};
        fold = (fold << 1) ^ (oldest & exits) ^ static_cast<std::uint16_t>(bit);
        fold = (fold ^ (fold >> width)) & static_cast<std::uint16_t>((1u << width) - 1);
    }

    // Each outcome twice, all its bits the same, so that no place behind the newest is beyond the
    // end.
    std::array<std::uint16_t, 2 * ring_bits> ring_{};
    std::size_t begin_ = 0;  // the newest
    HistoryLanes index_{};
    HistoryLanes tag_{};
};

// What a table with tags is looked up by: for each length of history, numbers made of the branch
// and of the history. Needs a `pc` whose bits are well mixed.
struct HistoryKeys {
    HistoryLanes index;  // index_bits each
    HistoryLanes tag;    // tag_bits each

    HistoryKeys(std::uint64_t pc, const BranchHistory& history) {
        // Odd factors, so that branches that share an entry of one table do not share all.
        constexpr HistoryLanes factors = {1, 0x9e37, 0x85eb, 0xc2b3, 0x27d5, 0x1657, 1, 1};
        constexpr std::uint16_t index_mask = (1u << BranchHistory::index_bits) - 1;
        constexpr std::uint16_t tag_mask = (1u << BranchHistory::tag_bits) - 1;
        const auto low = static_cast<std::uint16_t>(pc),
                   high = static_cast<std::uint16_t>(pc >> 16);
        const HistoryLanes product = factors * low;
        index = (product ^ (product >> 5) ^ history.indices()) & index_mask;
        tag = (high ^ history.tags() ^ (history.indices() << 1)) & tag_mask;
    }
};

}  // namespace shadowprof
