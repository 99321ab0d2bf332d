// Predicts the targets of indirect jumps and calls, as ITTAGE does (Seznec, A 64-Kbytes ITTAGE
// indirect branch predictor, CBP-3, 2011): a base table has the last target by address, and four
// tables have targets by address and a length of history. The longest history that has an entry
// with the right tag provides the prediction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/kinds/branches/branch_history.h"

namespace shadowprof {

class TargetPredictor {
  public:
    // The lengths of history that are used, by their numbers in BranchHistory.
    static constexpr std::array<std::size_t, 4> lengths = {0, 1, 3, 4};
    static constexpr std::size_t tables = lengths.size();
    static constexpr std::size_t base_entries = 1 << 11;
    static constexpr std::size_t entries = 1 << 9;

    TargetPredictor() : base_(base_entries, 0), table_(tables * entries) {}

    // Returns the predicted target of the branch `pc`, 0 for none, and learns that it goes to
    // `target`. The bits of `pc` must be well mixed. `history` is what came before the branch.
    std::uint64_t predict(std::uint64_t pc, std::uint64_t target, const BranchHistory& history);

  private:
    static constexpr std::uint16_t no_tag = 0xffff;

    struct Entry {
        std::uint64_t target = 0;
        std::uint16_t tag = no_tag;
        std::uint8_t confidence = 0;  // 0 to 3; the target is replaced at 0
        std::uint8_t useful = 0;      // 0 or 1
    };
    struct Lookup {
        HistoryKeys keys;
        int provider;  // its table; -1: the base table
        std::uint64_t alternative;
        std::uint64_t prediction;
    };

    Entry& entry(const Lookup& found, std::size_t table) {
        return table_[table * entries + found.keys.index[lengths[table]] % entries];
    }
    Lookup look_up(std::uint64_t pc, const BranchHistory& history);
    void allocate(const Lookup& found, std::uint64_t target);

    std::vector<std::uint64_t> base_;
    std::vector<Entry> table_;  // one table behind the other
};

}  // namespace shadowprof
