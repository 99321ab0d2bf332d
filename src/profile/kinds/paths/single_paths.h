// Paths that were executed once, as far as is known. Some programs have paths without end of which
// each is executed once. To keep a node and a link for each would cost more than all else. So they
// are noted one after the other, and counted when all are folded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profile/code/block_registry.h"
#include "profile/code/sights.h"
#include "profile/flow/flow_totals.h"

namespace shadowprof {

class SinglePaths {
  public:
    // Returns whether a path with this hash is met for the first time, or the first time for long.
    bool is_first(std::uint64_t hash) { return sights_.is_first(hash); }
    // A path was executed `times` times, which may be 0, right after the block `before`. 0: samples
    // begin with it.
    void add(BlockToken before, std::span<const BlockToken> path, std::uint64_t times) {
        if (times == 0) return;
        tokens_.insert(tokens_.end(), path.begin(), path.end());
        paths_.push_back({times, before, static_cast<std::uint32_t>(path.size())});
    }
    std::size_t size() const { return paths_.size(); }
    // The blocks of all paths.
    std::size_t blocks() const { return tokens_.size(); }
    // Adds the paths and the steps to and in them to the totals, and drops them.
    void fold_into(FlowTotals& totals);

  private:
    struct Entry {
        std::uint64_t times = 0;
        BlockToken before = 0;
        std::uint32_t length = 0;
    };
    Sights sights_;
    std::vector<BlockToken> tokens_;
    std::vector<Entry> paths_;
    std::vector<StepTotals::StepId> steps_;  // scratch
};

}  // namespace shadowprof
