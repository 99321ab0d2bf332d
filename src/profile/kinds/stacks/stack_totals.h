// Instructions by call stack, over all samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "profile/kinds/stacks/sample_stacks.h"
#include "profile/kinds/stacks/stack_tree.h"
#include "profile/profile.h"
#include "profile/statistics/batch_means.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

// What is kept of call stacks.
struct StackLimits {
    std::uint64_t bytes = 0;    // as they would be in a file (stack_file_bytes())
    bool keeps_callers = true;  // without, a context is the function that executes
};

class StackTotals {
  public:
    explicit StackTotals(const StackLimits& limits);

    // The context here that stands for one of an added tree.
    struct ContextMatch {
        ContextId context = 0;
        std::optional<ContextId> as_caller;
        bool folded = false;  // it stands for others as well, which are too deep
    };
    // By context of a tree, until contexts are folded.
    class ContextMatches {
      public:
        const ContextMatch& operator[](ContextId context) const { return matches_[context]; }
        void clear() { matches_.clear(); }

      private:
        friend StackTotals;
        std::uint32_t generation_ = 0;
        std::vector<ContextMatch> matches_;
    };

    // Finds places for all contexts of `tree`. `places` must be empty or from an earlier call for
    // this tree; it grows with the tree.
    void match_contexts(const StackTree& tree, ContextMatches& places);
    // Adds what was executed in a context.
    void add(ContextId context, std::uint64_t instructions) {
        instructions_.add(context, instructions);
    }
    void add_samples(ContextId context, std::uint64_t begun) { samples_[context] += begun; }
    // Adds the part of them that was executed in contexts for which this one stands
    // (ContextMatch::folded).
    void add_folded(ContextId context, std::uint64_t instructions) {
        folded_[context] += instructions;
    }
    // Notes what a sample, or a part of it, has executed, for the timeline.
    void add_sample(SampleStacks::Part part) { of_samples_.add(std::move(part)); }
    // Whether there is more than the limits allow.
    bool is_full() const { return bytes_ > limits_.bytes || tree_.size() > max_contexts(); }
    // If there is, folds half of it (stack_folder.h). Contexts get other numbers. Needs that no
    // stratum has ended.
    void keep_limits();
    void end_batch(const BatchSize& size);
    // See BatchSizes.
    void end_stratum();
    void set_numbers(std::uint64_t looks, std::uint64_t samples);
    // Begins a phase: its errors are those of counts added from now on. Must be called between
    // batches.
    void begin_phase();

    std::uint64_t instructions() const;
    // Instructions in contexts that were folded, and how often one was.
    std::uint64_t folded_instructions() const;
    std::uint64_t folded_contexts() const { return folded_contexts_; }

    // Scaled, hottest first; with errors from these batches, if any.
    std::vector<Stack> stacks(const CountScale& scale, std::optional<ErrorsOf> errors) const;
    // Completes the samples of a timeline.
    void fill(Timeline& timeline, const CountScale& scale) const {
        of_samples_.fill(timeline, tree_, scale);
    }
    // Data for the errors of sums of stacks.
    FunctionBatches function_batches(const CountScale& scale, ErrorsOf errors) const;

  private:
    // What one function executed in one batch.
    struct Part {
        std::uint32_t function = 0;  // index in functions_
        std::uint32_t batch = 0;
        double instructions = 0;
    };

    // A context takes some 150 bytes of memory, so that memory is bounded by five times the limit.
    std::size_t max_contexts() const { return limits_.bytes / 32; }
    ContextId as_caller(const StackTree& tree, ContextId context, ContextMatches& places);
    ContextMatch find_place(const StackTree& tree, ContextId context, ContextMatches& places);
    bool has_counts(ContextId context) const {
        return instructions_.count(context) != 0 || samples_[context] != 0;
    }
    void fold(std::uint64_t max_bytes);
    ContextId add_outer_part(const StackTree& from, ContextId context, std::size_t calls);
    void join_contexts(std::span<const ContextId> into, std::span<const ContextId> folded);
    void note_contexts();
    void note_parts();
    double& part(std::uint32_t function, std::size_t first);
    std::uint32_t function_id(CodeLocation location);

    StackLimits limits_;
    // The function that made a call in progress does not matter and is left out, so that contexts
    // differ only if profiles tell them apart.
    StackTree tree_;
    std::uint32_t generation_ = 1;            // of the contexts' numbers
    std::uint64_t bytes_ = 0;                 // of all contexts, as they would be in a file
    BatchedCounts instructions_;              // by context
    std::vector<std::uint64_t> samples_;      // by context
    std::vector<std::uint64_t> folded_;       // by context: see Stack
    std::vector<std::uint32_t> function_of_;  // by context: index in functions_
    std::vector<CodeLocation> functions_;
    IndexTable function_index_;
    BatchSizes sizes_;         // sums over all batches
    BatchSizes sizes_before_;  // when the phase began
    std::vector<BatchSize> batches_;
    std::size_t batches_before_ = 0;  // number of batches when the phase began
    std::vector<std::uint32_t> stratum_ends_;
    FunctionBatches::Numbers numbers_;
    std::vector<std::uint32_t> part_of_;  // by function: index in parts_, if that part is of this
                                          // batch
    std::vector<Part> parts_;
    bool has_all_parts_ = true;
    std::uint64_t folded_contexts_ = 0;
    SampleStacks of_samples_;
};

}  // namespace shadowprof
