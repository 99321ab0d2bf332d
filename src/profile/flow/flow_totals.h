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
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "profile/code/block_registry.h"
#include "profile/flow/flow_record.h"
#include "profile/flow/touched_sums.h"
#include "profile/kinds/edges/step_totals.h"
#include "profile/kinds/paths/path_store.h"
#include "profile/kinds/stacks/stack_totals.h"
#include "profile/profile.h"
#include "profile/statistics/batch_means.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

// Where a run's profile stops growing. Counts stay exact beyond; what is left out is counted.
struct FlowLimits {
    std::size_t paths = 1 << 20;
    std::size_t contexts = 1 << 20;
    std::size_t steps = 1 << 23;  // distinct pairs of blocks: more than any program has
    // The most bytes of samples that are held. A sample takes up to some hundred kilobytes. With as
    // many samples as have room in 64 MiB weights by the clock change little.
    std::size_t held_bytes = std::size_t{64} << 20;
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
    void add_step(StepTotals::StepId step, std::uint64_t count);
    // A path was executed: its blocks and the steps between them. `place`, and `steps` by which
    // each block but the first was reached, are what an earlier call set for this path, or unknown.
    void add_path(std::span<const BlockToken> path, PathStore::Place& place,
                  std::span<StepTotals::StepId> steps, std::uint64_t count);
    // By context of one tree.
    struct StackAmounts {
        const TouchedSums<ContextId>& instructions;  // executed
        const TouchedSums<ContextId>& samples;       // begun
        double time_ns = 0;                          // that all the instructions took together
    };
    // `places`: see StackTotals.
    void add_stacks(const StackTree& tree, StackTotals::Places& places,
                    const StackAmounts& amounts);
    void add_mismatches(std::uint64_t returns);

    // What is added from begin_record() to end_record(), by a sample whose counts were multiplied
    // by `weight`, is not part of the totals before it is added as a record. Needs
    // has_room_for_paths() for as many as are added.
    void begin_record() { records_ = true; }
    FlowRecord end_record(std::uint64_t weight);
    bool has_room_for_paths(std::size_t more) const { return paths_.has_room_for(more); }
    // All batches since the last call were of a stratum that the kernel's clock knows. With as many
    // ticks, and samples in all. See BatchSizes.
    void end_stratum();
    void set_numbers(std::uint64_t ticks, std::uint64_t samples);
    // Adds the record of a sample with this weight, which took so long. The record may also be of
    // totals that these are a copy of.
    void add(const FlowRecord& record, std::uint64_t weight, double time_ns);

    struct Batch {
        std::uint64_t instructions = 0, weighted = 0;
        double time_ns = 0;
    };
    // All of a batch was added.
    void end_batch(const Batch& batch);

    // ErrorCode::invalid, naming the block and the numbers, if an invariant does not hold.
    Result<void> check() const;

    // Sets the profile's edges, paths, stacks and calls, scaled and hottest first, and adds
    // counters and notes. Errors are of these batches. Between batches.
    void fill(Profile& profile, ErrorsOf errors = ErrorsOf::all) const;

    // The errors of a phase are those of what comes now. Between batches.
    void begin_phase();
    // Profiles are scaled by it from now on, whatever comes: what several of them have then adds
    // up.
    void fix_scale(const CountScale& scale) { fixed_scale_ = scale; }

    const StepTotals& steps() const { return steps_; }
    const PathStore& paths() const { return paths_; }
    const BatchSizes& sizes() const { return sizes_; }
    const CountScale& scale() const { return fixed_scale_ ? *fixed_scale_ : scale_; }
    // Nothing where profiles state no errors.
    std::optional<BatchSizes> error_sizes(ErrorsOf errors) const;

  private:
    struct BlockTotals {
        std::uint64_t executions = 0;
        std::uint64_t starts = 0;  // of samples
        std::uint64_t ends = 0;
    };

    BlockTotals& block(BlockToken token);
    void add_folded(std::uint64_t instructions);
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
    BatchSizes sizes_, sizes_before_;  // of all; when the phase began
    CountScale scale_;
    std::optional<CountScale> fixed_scale_;
    std::uint64_t mismatched_returns_ = 0;
    FlowRecorder recorder_;
    bool records_ = false;  // what is added goes there
};

}  // namespace shadowprof
