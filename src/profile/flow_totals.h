// The sums of control flow over all samples of a run.
//
// Invariants, which check() proves:
//  - conservation: each block was executed as often as it was stepped into plus the samples that
//    began with it, and as often as it was stepped out of plus the samples that ended with it;
//  - instructions: the sum over blocks of executions x instructions, the sum over stacks, and the
//    sum that the samples reported are the same number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "profile/block_registry.h"
#include "profile/index_table.h"
#include "profile/path_store.h"
#include "profile/profile.h"
#include "profile/stack_tree.h"

namespace shadowprof {

// Where a run's profile stops growing. Counts stay exact beyond; what is left out is counted.
struct FlowLimits {
    std::size_t paths = 1 << 20;
    std::size_t contexts = 1 << 20;
    std::size_t steps = 1 << 23;  // distinct pairs of blocks: more than any program has
};

class FlowTotals {
  public:
    explicit FlowTotals(const FlowLimits& limits = {});

    // `count` samples began, or ended, with a block.
    void add_start(BlockToken block, std::uint64_t count);
    void add_end(BlockToken block, std::uint64_t count);
    // `to` was executed `count` times right after `from`.
    void add_step(BlockToken from, BlockToken to, std::uint64_t count);
    // A path was executed: its blocks and the steps between them.
    void add_path(std::span<const BlockToken> path, std::uint64_t count);
    // Instructions executed and samples begun in each context of `tree`, by its number.
    void add_stacks(const StackTree& tree, std::span<const std::uint64_t> instructions,
                    std::span<const std::uint64_t> samples);
    void add_mismatches(std::uint64_t returns) { mismatched_returns_ += returns; }
    void add_instructions(std::uint64_t instructions) { instructions_ += instructions; }

    // ErrorCode::invalid, naming the block and the numbers, if an invariant does not hold.
    Result<void> check(const BlockRegistry& registry) const;

    // Sets the profile's edges, paths, stacks and calls, hottest first, and adds counters and
    // notes.
    void fill(Profile& profile, const BlockRegistry& registry) const;

  private:
    struct BlockTotals {
        std::uint64_t executions = 0;
        std::uint64_t starts = 0;  // of samples
        std::uint64_t ends = 0;
    };
    struct ContextTotals {
        std::uint64_t instructions = 0;
        std::uint64_t samples = 0;
    };

    BlockTotals& block(BlockToken token);
    Result<void> check_conservation() const;
    Result<void> check_instructions(const BlockRegistry& registry) const;
    void fill_edges(Profile& profile, const BlockRegistry& registry) const;
    void fill_paths(Profile& profile, const BlockRegistry& registry) const;
    void fill_stacks(Profile& profile) const;
    void fill_counters(Profile& profile, const BlockRegistry& registry) const;
    std::uint64_t impossible_steps(const BlockRegistry& registry) const;

    FlowLimits limits_;
    std::vector<BlockTotals> blocks_;  // by token
    CountTable steps_;                 // by from and to
    PathStore paths_;
    StackTree stacks_;
    std::vector<ContextTotals> contexts_;  // by ContextId of stacks_
    std::uint64_t instructions_ = 0;
    std::uint64_t mismatched_returns_ = 0;
    std::uint64_t steps_left_out_ = 0;
    std::uint64_t folded_instructions_ = 0;  // in stacks that were beyond the limit
};

}  // namespace shadowprof
