// Instructions and time by call stack, over all samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/kinds/stacks/stack_tree.h"
#include "profile/profile.h"
#include "profile/statistics/batch_means.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

class StackTotals {
  public:
    // Keeps at most `max_contexts`.
    explicit StackTotals(std::size_t max_contexts);

    // Which context of ours stands for one of a tree that is added: the same, or where there are
    // too many, the nearest of its ancestors that we have.
    struct Place {
        ContextId context = 0;
        std::optional<ContextId> as_caller;
        bool folded = false;
    };
    using Places = std::vector<Place>;  // by context of the tree

    // `places` are those that were found for this tree before, and grow with it.
    void find_places(const StackTree& tree, Places& places);
    // What was executed in a context.
    void add(ContextId context, std::uint64_t instructions, double time_ns);
    void add_samples(ContextId context, std::uint64_t begun) { samples_[context] += begun; }
    // Adds those of the executed instructions that were in contexts which stand for others
    // (Place::folded).
    void add_folded(std::uint64_t instructions) { folded_instructions_ += instructions; }
    void end_batch(const BatchSize& size);
    // See BatchSizes.
    void end_stratum();
    void set_numbers(std::uint64_t ticks, std::uint64_t samples);
    // The errors of a phase are those of what comes now. Between batches.
    void begin_phase();

    std::uint64_t instructions() const;
    // How many of the instructions were in stacks beyond a limit: they count for a caller.
    std::uint64_t folded_instructions() const { return folded_instructions_; }

    // Scaled but for the time, hottest first; with errors of these batches, if any.
    std::vector<Stack> stacks(const CountScale& scale, std::optional<ErrorsOf> errors) const;
    // For the errors of what stacks add up to.
    FunctionBatches function_batches(const CountScale& scale, ErrorsOf errors) const;

  private:
    using Amount = FunctionBatches::Amount;
    // What one function location has in one batch.
    struct Part {
        std::uint32_t function = 0;  // in functions_
        std::uint32_t batch = 0;
        Amount amount;
    };

    std::optional<ContextId> as_caller(const StackTree& tree, ContextId context, Places& places);
    Place find_place(const StackTree& tree, ContextId context, Places& places);
    void note_contexts();
    void note_parts();
    Amount& part(std::uint32_t function, std::size_t first);
    std::uint32_t function_id(CodeLocation location);

    std::size_t max_contexts_;
    // Which function made a call that is in progress does not matter, and is left out: contexts
    // differ if profiles tell them apart.
    StackTree tree_;
    BatchedCounts instructions_;              // by context
    BatchedCounts time_ns_;                   // the same
    std::vector<std::uint64_t> samples_;      // the same
    std::vector<std::uint32_t> function_of_;  // the same: in functions_
    std::vector<CodeLocation> functions_;
    IndexTable function_index_;
    BatchSizes sizes_, times_;                // of batches
    BatchSizes sizes_before_, times_before_;  // when the phase began
    std::vector<Amount> batches_;
    std::size_t batches_before_ = 0;  // of them, when the phase began
    std::vector<std::uint32_t> stratum_ends_;
    FunctionBatches::Numbers numbers_;
    std::vector<std::uint32_t> part_of_;  // by function: in parts_, where that is of this batch
    std::vector<Part> parts_;
    bool has_all_parts_ = true;
    std::uint64_t folded_instructions_ = 0;
};

}  // namespace shadowprof
