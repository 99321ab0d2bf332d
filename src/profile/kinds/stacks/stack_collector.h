// Follows the calls and returns in one emulator's blocks, and counts the instructions of each
// calling context, for runs in which all counts are those of one long sample.
//
// A context's instructions are added up where control leaves it. What a record does to the calls in
// progress is found once (call_steps.h), so that a record without calls and returns is an addition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/code/block_view.h"
#include "profile/flow/call_steps.h"
#include "profile/flow/flow_totals.h"
#include "profile/flow/touched_sums.h"
#include "profile/kinds/stacks/stack_tree.h"

namespace shadowprof {

class StackCollector {
  public:
    // `blocks` must outlive it.
    explicit StackCollector(const BlockView& blocks) : blocks_(blocks) {}

    // From now on each instruction counts `weight` times.
    void set_weight(std::uint32_t weight) { weight_ = weight; }
    // Ends all threads.
    void begin_sample();
    // A thread begins with this stack, the innermost first: program counter, then return addresses.
    // It may be empty.
    void begin_thread(std::uint32_t thread, std::span<const CodeLocation> stack);
    // A thread goes on that stands in a context of another tree, behind `last` (0: at its begin),
    // and has executed `blocks` since.
    struct Standing {
        ContextId context = 0;
        BlockToken last = 0;
        std::span<const BlockToken> blocks = {};
    };
    void take_over(std::uint32_t thread, const Standing& standing, const StackTree& from);
    // The ids of records have new meanings.
    void new_emulator();
    // Takes a record, which always has these blocks, that the thread executed behind those before.
    // The thread must have begun.
    void take(std::uint32_t thread, std::uint32_t id, std::span<const BlockToken> blocks);
    // Does the same without the blocks. False, and nothing was done, if they are needed.
    bool take_known(std::uint32_t thread, std::uint32_t id);

    // The context of the thread's last block, or the one that it began with.
    ContextId context(std::uint32_t thread) const { return threads_[thread].context; }
    // The context of `next`, which the thread executes behind its last block.
    ContextId context_of(std::uint32_t thread, BlockToken next);
    // The thread goes on in `context`.
    void go_on_in(std::uint32_t thread, ContextId context) { go_to(threads_[thread], context); }
    const StackTree& stacks() const { return tree_; }
    StackTree& stacks() { return tree_; }

    // Whether there are so many contexts that fold_into() and clear() are due.
    bool is_full() const { return tree_.size() >= max_contexts; }
    // Adds all counts to `totals`, which must always be the same, and sets them to zero.
    void fold_into(FlowTotals& totals, double time_ns);
    // Forgets all contexts but those in which threads are, and `contexts`, which get new numbers.
    // Needs counts that were folded.
    void clear(std::span<ContextId* const> contexts);

  private:
    static constexpr std::size_t max_contexts = std::size_t{1} << 18;

    struct Thread {
        ContextId context = 0;  // of the last block, or of the stack that it began with
        BlockToken last = 0;    // 0: it has executed none
        CodeLocation end;       // of the last block
        Terminator terminator = Terminator::none;
        std::uint64_t instructions = 0;  // executed in the context and not added up yet
    };
    // Where a step led when it was last taken. It leads there again from the same context.
    struct Led {
        ContextId from = 0, to = 0;  // 0: nowhere
    };
    struct Step {
        CallStep step;
        Led led = {};
    };
    // What executing a record does, where that is always the same.
    struct Record {
        CodeLocation start, function;  // of its first block
        CodeLocation end;              // of its last block
        std::uint32_t instructions = 0;
        std::uint32_t first_step = 0, steps = 0;
        BlockToken last = 0;
        BlockToken before = 0;  // the block before it, when it was last executed
        Led led = {};           // by the step from that to its first block
        Terminator terminator = Terminator::none;
        bool is_known = false;
        bool has_steps = false;  // else its blocks must be followed one by one
    };

    Record known_record(std::span<const BlockToken> blocks);
    void follow(Thread& of, std::span<const BlockToken> blocks);
    ContextStep step(const Thread& from, const CanonicalBlock& to);
    void begin(Thread& of, Record& record);
    void apply(Thread& of, Step& step);
    void return_to(Thread& of, CodeLocation place);
    void go_to(Thread& of, ContextId context);
    void add_up(Thread& of);

    const BlockView& blocks_;
    StackTree tree_;
    StackTotals::ContextMatches places_;
    std::vector<Thread> threads_;
    std::vector<Record> records_;  // by id
    std::vector<Step> steps_;      // of all records
    std::uint64_t mismatched_returns_ = 0;
    TouchedSums<ContextId> instructions_, samples_;  // by context
    std::uint64_t weight_ = 1;
};

}  // namespace shadowprof
