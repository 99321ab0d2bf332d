// Counts the branches in one emulator's blocks, and what the model predicts of them.
//
// The tables and the history stay from one sample to the next, so that they are warm: what a sample
// finds is what an earlier one has left. They are of all threads. Each thread has its own stack of
// returns.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "profile/code/block_view.h"
#include "profile/kinds/branches/branch_predictor.h"
#include "profile/profile.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class BranchCollector {
  public:
    // `blocks` must outlive it.
    explicit BranchCollector(const BlockView& blocks) : blocks_(blocks) {}

    // From now on each execution counts `weight` times.
    void set_weight(std::uint32_t weight) { weight_ = weight; }
    void begin_sample() { threads_.clear(); }
    // A thread begins with these return addresses in progress, the innermost first.
    void begin_thread(std::uint32_t thread, std::span<const CodeLocation> returns);
    enum class Counting : std::uint8_t { counts, learns_only };
    // Takes blocks that the thread executed one after the other, behind those before. The branch of
    // the last one is taken with the next blocks.
    void take(std::uint32_t thread, std::span<const BlockToken> blocks, Counting counting);

  private:
    friend class BranchTotals;

    // What is needed of a block, by its token: one line of the cache.
    struct alignas(64) Site {
        std::uint64_t start = 0;  // key of the location; 0: the site is not filled
        std::uint64_t end = 0;
        std::uint64_t pc = 0;
        Terminator terminator = Terminator::none;
        bool pushes_return = false;
        std::uint64_t executions = 0, taken = 0, mispredictions = 0;
    };
    static_assert(sizeof(Site) == 64);
    struct Thread {
        BlockToken last = 0;  // 0: not known
        ReturnStack returns = {};
    };

    Site& site(BlockToken token) {
        if (token >= sites_.size() || sites_[token].start == 0) fill_site(token);
        return sites_[token];
    }
    void fill_site(BlockToken token);
    void step(Thread& thread, Site& from, std::uint64_t to, std::uint64_t weight);

    const BlockView& blocks_;
    BranchPredictor predictor_;
    std::vector<Site> sites_;  // by token
    std::vector<Thread> threads_;
    std::uint64_t direct_ = 0;  // direct jumps and calls
    std::uint64_t weight_ = 1;
};

// Sums over the collectors of several emulators.
class BranchTotals {
  public:
    void add(const BranchCollector& collector);
    // Sets the profile's branches, scaled and those first that are mispredicted most, the model and
    // the counters `branches`, `branches_conditional`, `branches_indirect`, `branches_taken` and
    // `branch_mispredictions`.
    void fill(Profile& profile, const CountScale& scale) const;

  private:
    struct Counts {
        std::uint64_t executions = 0, taken = 0, mispredictions = 0;
    };
    std::map<std::pair<CodeLocation, BranchKind>, Counts> counts_;
    std::uint64_t direct_ = 0;
};

}  // namespace shadowprof
