// Predicts conditional branches: TAGE (Seznec and Michaud, A case for (partially) TAgged GEometric
// history length branch prediction, JILP 2006).
//
// A base table of two-bit counters predicts by address. Each of six tables predicts by address and
// one length of history, where its entry has the right tag. The longest history that has such an
// entry provides the prediction. What the table would have predicted without it is the alternative.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/kinds/branches/branch_history.h"
#include "profile/statistics/random.h"

namespace shadowprof {

class DirectionPredictor {
  public:
    static constexpr std::size_t tables = BranchHistory::lengths;
    static constexpr std::size_t base_entries = 1 << 13;
    static constexpr std::size_t entries = 1 << BranchHistory::index_bits;

    DirectionPredictor() : base_(base_entries, {.useful = 1}), table_(tables * entries) {}

    // Returns the prediction for the branch `pc`, whose bits must be well mixed, and learns that it
    // is `taken`. `history` is what came before it.
    bool predict(std::uint64_t pc, bool taken, const BranchHistory& history);

  private:
    static constexpr std::uint16_t no_tag = 0xffff;
    static_assert(BranchHistory::tag_bits < 16);

    struct State {
        std::int8_t counter = 0;  // -4 to 3, in the base table -2 to 1; taken from 0 on
        std::uint8_t useful = 0;  // 0 to 3; in the base table always 1
    };
    struct Entry {
        std::uint16_t tag = no_tag;
        State state;
    };
    struct Lookup {
        HistoryKeys keys;
        // The states that the branch has in the base table, and then in the others.
        std::array<State*, 1 + tables> states{};
        std::size_t provider = 0;  // its index in `states`
        bool provided = false;
        bool alternative = false;
    };

    Entry& entry(const HistoryKeys& keys, std::size_t table) {
        return table_[table * entries + keys.index[table]];
    }
    Lookup look_up(std::uint64_t pc, const BranchHistory& history);
    // Never in the base table.
    static bool is_new(State state) {
        return (state.useful == 0) & ((state.counter == 0) | (state.counter == -1));
    }
    void allocate(const Lookup& found, bool taken);
    void age();

    std::vector<State> base_;
    std::vector<Entry> table_;  // one table behind the other
    // Whether the alternative was better than new entries of late: from 0 on.
    std::int8_t trusts_alternative_ = 0;
    std::uint32_t until_aging_ = aging_period;
    bool ages_high_bit_ = true;
    Random random_{1};

    // Branches between two times at which one bit of all `useful` is cleared (section 3.2.3).
    static constexpr std::uint32_t aging_period = 256 << 10;
};

}  // namespace shadowprof
