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
    // Keeps at most `max_contexts`. Without `keeps_callers`, a context is the function that
    // executes.
    StackTotals(std::size_t max_contexts, bool keeps_callers);

    // The context here that stands for one of an added tree. It is the same context or, if there
    // are too many, its nearest ancestor here.
    struct ContextMatch {
        ContextId context = 0;
        std::optional<ContextId> as_caller;
        bool folded = false;
    };
    using ContextMatches = std::vector<ContextMatch>;  // by context of the tree

    // Finds places for all contexts of `tree`. `places` must be empty or from an earlier call for
    // this tree; it grows with the tree.
    void match_contexts(const StackTree& tree, ContextMatches& places);
    // Adds what was executed in a context.
    void add(ContextId context, std::uint64_t instructions, double time_ns);
    void add_samples(ContextId context, std::uint64_t begun) { samples_[context] += begun; }
    // Adds the number of executed instructions whose contexts stand for others
    // (ContextMatch::folded).
    void add_folded(std::uint64_t instructions) { folded_instructions_ += instructions; }
    void end_batch(const BatchSize& size);
    // See BatchSizes.
    void end_stratum();
    void set_numbers(std::uint64_t ticks, std::uint64_t samples);
    // Begins a phase: its errors are those of counts added from now on. Must be called between
    // batches.
    void begin_phase();

    std::uint64_t instructions() const;
    // Instructions in contexts beyond a limit, which count for a caller.
    std::uint64_t folded_instructions() const { return folded_instructions_; }

    // Scaled except for the time, hottest first; with errors from these batches, if any.
    std::vector<Stack> stacks(const CountScale& scale, std::optional<ErrorsOf> errors) const;
    // Data for the errors of sums of stacks.
    FunctionBatches function_batches(const CountScale& scale, ErrorsOf errors) const;

  private:
    using Amount = FunctionBatches::Amount;
    // The amount of one function in one batch.
    struct Part {
        std::uint32_t function = 0;  // index in functions_
        std::uint32_t batch = 0;
        Amount amount;
    };

    std::optional<ContextId> as_caller(const StackTree& tree, ContextId context,
                                       ContextMatches& places);
    ContextMatch find_place(const StackTree& tree, ContextId context, ContextMatches& places);
    void note_contexts();
    void note_parts();
    Amount& part(std::uint32_t function, std::size_t first);
    std::uint32_t function_id(CodeLocation location);

    std::size_t max_contexts_;
    bool keeps_callers_;
    // The function that made a call in progress does not matter and is left out, so that contexts
    // differ only if profiles tell them apart.
    StackTree tree_;
    BatchedCounts instructions_;              // by context
    BatchedCounts time_ns_;                   // by context
    std::vector<std::uint64_t> samples_;      // by context
    std::vector<std::uint32_t> function_of_;  // by context: index in functions_
    std::vector<CodeLocation> functions_;
    IndexTable function_index_;
    BatchSizes sizes_, times_;                // sums over all batches
    BatchSizes sizes_before_, times_before_;  // when the phase began
    std::vector<Amount> batches_;
    std::size_t batches_before_ = 0;  // number of batches when the phase began
    std::vector<std::uint32_t> stratum_ends_;
    FunctionBatches::Numbers numbers_;
    std::vector<std::uint32_t> part_of_;  // by function: index in parts_, if that part is of this
                                          // batch
    std::vector<Part> parts_;
    bool has_all_parts_ = true;
    std::uint64_t folded_instructions_ = 0;
};

}  // namespace shadowprof
