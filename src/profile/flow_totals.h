// The sums of control flow over all samples of a run. Every count is weighted: what a sample of
// weight w executed counts w times. Profiles get them scaled.
//
// Invariants, which check() proves:
//  - conservation: each block was executed as often as it was stepped into plus the samples that
//    began with it, and as often as it was stepped out of plus the samples that ended with it;
//  - instructions: the sum over blocks of executions x instructions, the sum over stacks, and the
//    weighted sum that the samples reported are the same number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "profile/batch_means.h"
#include "profile/block_registry.h"
#include "profile/count_scale.h"
#include "profile/path_store.h"
#include "profile/profile.h"
#include "profile/stack_totals.h"
#include "profile/step_totals.h"

namespace shadowprof {

// Where a run's profile stops growing. Counts stay exact beyond; what is left out is counted.
struct FlowLimits {
    std::size_t paths = 1 << 20;
    std::size_t contexts = 1 << 20;
    std::size_t steps = 1 << 23;  // distinct pairs of blocks: more than any program has
};

class FlowTotals {
  public:
    // `registry` must outlive it. With `are_samples`, what is added stands for more than itself,
    // and profiles state errors.
    explicit FlowTotals(const BlockRegistry& registry, const FlowLimits& limits = {},
                        bool are_samples = true);

    // Counts are added batch by batch (batch_means.h): what a collector found in some samples.
    // `count` samples began, or ended, with a block.
    void add_start(BlockToken block, std::uint64_t count);
    void add_end(BlockToken block, std::uint64_t count);
    // One block was executed right after another.
    StepTotals::StepId step_id(BlockToken from, BlockToken to) { return steps_.step_id(from, to); }
    void add_step(StepTotals::StepId step, std::uint64_t count) { steps_.add(step, count); }
    // A path was executed: its blocks and the steps between them. `place`, and `steps` by which
    // each block but the first was reached, are what an earlier call set for this path, or unknown.
    void add_path(std::span<const BlockToken> path, PathStore::Place& place,
                  std::span<StepTotals::StepId> steps, std::uint64_t count);
    // See StackTotals.
    void add_stacks(const StackTree& tree, StackTotals::Places& places,
                    std::span<const std::uint64_t> instructions,
                    std::span<const std::uint64_t> samples) {
        stacks_.add(tree, places, instructions, samples);
    }
    void add_mismatches(std::uint64_t returns) { mismatched_returns_ += returns; }
    // All of a batch was added: so many instructions, and the same weighted.
    void end_batch(std::uint64_t instructions, std::uint64_t weighted);

    // ErrorCode::invalid, naming the block and the numbers, if an invariant does not hold.
    Result<void> check() const;

    // Sets the profile's edges, paths, stacks and calls, scaled and hottest first, and adds
    // counters and notes. Between batches.
    void fill(Profile& profile) const;

    const StepTotals& steps() const { return steps_; }
    const PathStore& paths() const { return paths_; }
    const BatchSizes& sizes() const { return sizes_; }
    const CountScale& scale() const { return scale_; }
    // Null where profiles state no errors.
    const BatchSizes* error_sizes() const { return are_samples_ ? &sizes_ : nullptr; }

  private:
    struct BlockTotals {
        std::uint64_t executions = 0;
        std::uint64_t starts = 0;  // of samples
        std::uint64_t ends = 0;
    };

    BlockTotals& block(BlockToken token);
    Result<void> check_conservation() const;
    Result<void> check_instructions() const;
    void fill_counters(Profile& profile) const;

    const BlockRegistry& registry_;
    const FlowLimits limits_;
    const bool are_samples_;
    std::vector<BlockTotals> blocks_;  // by token
    StepTotals steps_;
    PathStore paths_;
    StackTotals stacks_;
    BatchSizes sizes_;
    CountScale scale_;
    std::uint64_t mismatched_returns_ = 0;
};

}  // namespace shadowprof
