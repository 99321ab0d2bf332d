// The sums of control flow over all samples of a run. Every count is weighted: what a sample of
// weight w executed counts w times. Counts in profiles are scaled.
//
// Invariants, which check() verifies:
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
#include "profile/profile_size.h"
#include "profile/statistics/batch_means.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

// How much of a run's control flow is kept. Counts within the limits stay exact. The rest is
// counted as left out.
struct FlowLimits {
    bool keeps_paths = true;
    bool keeps_callers = true;  // without, a stack is the function that executes
    std::size_t paths = 1 << 20;
    std::size_t path_blocks = 1 << 24;  // of all paths together
    // Twice what a profile has, so that what is hot at last is seldom folded before.
    std::uint64_t stack_bytes = 2 * max_stack_bytes(default_max_profile_bytes);
    // Twice what a profile has, as some may be the same path there.
    std::uint64_t path_bytes = 2 * max_path_bytes(default_max_profile_bytes);
    std::size_t steps = 1 << 23;  // distinct pairs of blocks: more than any program has
    // The most bytes of held samples. A sample takes up to some hundred kilobytes. With as many
    // samples as fit in 64 MiB, weights by looks change little.
    std::size_t held_bytes = std::size_t{64} << 20;
};

class FlowTotals {
  public:
    // `registry` must outlive it. With `are_samples`, counts stand for more than what was executed,
    // and profiles state errors.
    explicit FlowTotals(const BlockRegistry& registry, const FlowLimits& limits = {},
                        bool are_samples = true);

    // Counts are added batch by batch (batch_means.h). A batch is what a collector found in some
    // samples. `count` samples began, or ended, with a block.
    void add_start(BlockToken block, std::uint64_t count);
    void add_end(BlockToken block, std::uint64_t count);
    // A step is the execution of one block right after another.
    StepTotals::StepId step_id(BlockToken from, BlockToken to) { return steps_.step_id(from, to); }
    void add_step(StepTotals::StepId step, std::uint64_t count);
    // A path was executed: its blocks and the steps between them. `place`, and the `steps` by which
    // each block but the first was reached, must be unknown or as an earlier call set them for this
    // path.
    void add_path(std::span<const BlockToken> path, PathStore::Handle& place,
                  std::span<StepTotals::StepId> steps, std::uint64_t count);
    // Amounts by context of one tree.
    struct StackAmounts {
        const TouchedSums<ContextId>& instructions;  // executed
        const TouchedSums<ContextId>& samples;       // begun
        double time_ns = 0;  // processor time of all the instructions together
    };
    // A sample, whose counts are multiplied by `weight`. Number 0: it is not in the timeline.
    struct OfSample {
        std::uint64_t number = 0, weight = 1;
    };
    // The stacks that are added from now on are of this sample.
    void set_sample(OfSample sample) { sample_ = sample; }
    // See StackTotals for `places`. Keeps the limits unless the counts become a record.
    void add_stacks(const StackTree& tree, StackTotals::ContextMatches& places,
                    const StackAmounts& amounts);
    void add_mismatches(std::uint64_t returns);
    // Whether stacks are beyond their limit; keep_limits() folds some, to which records must not
    // refer.
    bool has_too_many_stacks() const { return stacks_.is_full(); }
    void keep_limits() { stacks_.keep_limits(); }

    // Counts that are added from begin_record() to end_record() become a record and are not part of
    // the totals until the record is added. They come from a sample whose counts were multiplied by
    // `weight`. Needs has_room_for_paths() for as many paths as are added.
    void begin_record() { records_ = true; }
    FlowRecord end_record(std::uint64_t weight);
    bool has_room_for_paths(std::size_t more) const { return paths_.has_room_for(more); }
    // Ends a stratum of known time: all batches since the last call are in it.
    // set_numbers() gives the numbers of looks and of samples in all. See BatchSizes.
    void end_stratum();
    void set_numbers(std::uint64_t looks, std::uint64_t samples);
    // Adds the record of a sample with this weight and time. If these totals are a copy, the record
    // may also be of the original.
    void add(const FlowRecord& record, OfSample sample, double time_ns);

    struct Batch {
        std::uint64_t instructions = 0, weighted = 0;
        double time_ns = 0;
    };
    // Ends a batch, all of which was added.
    void end_batch(const Batch& batch);

    // Errors: ErrorCode::invalid, naming the block and the numbers, if an invariant does not hold.
    Result<void> check() const;

    // Sets the profile's edges, paths, stacks and calls, scaled and hottest first, and adds
    // counters and notes. Errors are estimated from the batches. Must be called between batches.
    void fill(Profile& profile, ErrorsOf errors = ErrorsOf::all) const;

    // Begins a phase: its errors are those of counts added from now on. Must be called between
    // batches.
    void begin_phase();
    // From now on profiles are scaled by `scale`, whatever is added, so that the counts of several
    // profiles add up.
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
        std::uint64_t starts = 0;  // samples that began with the block
        std::uint64_t ends = 0;
    };

    BlockTotals& block(BlockToken token);
    void add_folded(ContextId context, std::uint64_t instructions);
    void note_stacks(const StackTotals::ContextMatches& places, const StackAmounts& amounts);
    void note_stacks(const FlowRecord& record, OfSample sample, double time_ns);
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
    BatchSizes sizes_, sizes_before_;  // over all batches, and when the phase began
    CountScale scale_;
    std::optional<CountScale> fixed_scale_;
    std::uint64_t mismatched_returns_ = 0;
    FlowRecorder recorder_;
    bool records_ = false;  // counts go to the recorder
    OfSample sample_;       // see set_sample()
};

}  // namespace shadowprof
