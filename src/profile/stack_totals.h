// Instructions by call stack, over all samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/batch_means.h"
#include "profile/count_scale.h"
#include "profile/profile.h"
#include "profile/stack_tree.h"

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

    // Instructions executed and samples begun in each context of `tree`, by its number. `places`
    // are those that were found for this tree before, and grow with it.
    void add(const StackTree& tree, Places& places, std::span<const std::uint64_t> instructions,
             std::span<const std::uint64_t> samples);
    void end_batch(double size);

    std::uint64_t instructions() const;
    // Of these, in stacks that were beyond a limit: they count for a caller.
    std::uint64_t folded_instructions() const { return folded_instructions_; }

    // Scaled, hottest first; with errors where `sizes` is not null.
    std::vector<Stack> stacks(const CountScale& scale, const BatchSizes* sizes) const;
    // For the errors of what stacks add up to.
    FunctionBatches function_batches(const CountScale& scale) const;

  private:
    // Instructions of one function location in one batch.
    struct Part {
        std::uint32_t function = 0;  // in functions_
        std::uint32_t batch = 0;
        double instructions = 0;
    };

    std::optional<ContextId> as_caller(const StackTree& tree, ContextId context, Places& places);
    Place find_place(const StackTree& tree, ContextId context, Places& places);
    void note_contexts();
    std::uint32_t function_id(CodeLocation location);

    std::size_t max_contexts_;
    // Which function made a call that is in progress does not matter, and is left out: contexts
    // differ if profiles tell them apart.
    StackTree tree_;
    BatchedCounts instructions_;              // by context
    std::vector<std::uint64_t> samples_;      // the same
    std::vector<std::uint32_t> function_of_;  // the same: in functions_
    std::vector<CodeLocation> functions_;
    IndexTable function_index_;
    BatchedCounts by_function_;
    std::vector<double> batch_sizes_;
    std::vector<Part> parts_;
    bool has_all_parts_ = true;
    std::uint64_t folded_instructions_ = 0;
};

}  // namespace shadowprof
