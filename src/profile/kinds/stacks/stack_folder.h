// Folds call stacks until they fit, the coldest first. A folded stack loses its innermost call and
// is added to the stack of the same function there, if there is one; it is folded again while it is
// cold. It keeps the function that executes. So the instructions of each function, and of all
// functions together, stay what they are, and hot stacks stay whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/profile_size.h"

namespace shadowprof {

class StackFolder {
  public:
    // Numbers the calls in progress of a stack. 0: none. A caller has a smaller number than what it
    // calls.
    using Caller = std::uint32_t;
    // Numbers stacks in the order in which they were added.
    using StackId = std::uint32_t;

    StackFolder() : callers_(1) {}

    // The calls in progress of `caller` and one more.
    Caller called(Caller caller, CodeLocation site);
    // Adds a stack. Stacks with the same callers and function are one.
    StackId add(Caller caller, CodeLocation function, std::uint64_t instructions);

    // Folds until the stacks have at most `max_bytes` by stack_file_bytes(), or no calls.
    void fold(std::uint64_t max_bytes) {
        if (bytes_ <= max_bytes) return;
        fold_coldest(max_bytes);
        settle();
    }

    std::size_t size() const { return stacks_.size(); }
    std::uint64_t bytes() const { return bytes_; }
    // The stack that has the counts of `stack`: itself, or one that it was folded into.
    StackId kept(StackId stack) const {
        return stacks_[stack].into == no_stack ? stack : stacks_[stack].into;
    }
    bool is_folded(StackId stack) const { return calls_left(stack) != stacks_[stack].calls; }
    // The number of outermost calls that `stack` keeps.
    std::size_t calls_left(StackId stack) const {
        return callers_[stacks_[kept(stack)].caller].calls;
    }

  private:
    static constexpr StackId no_stack = ~StackId{0};

    struct CallerNode {
        Caller parent = 0;
        std::uint32_t calls = 0;
        CodeLocation site;
        StackId first_stack = no_stack;  // the stacks that have no further caller
    };
    struct Entry {
        Caller caller = 0;
        std::uint32_t calls = 0;  // as it was added
        CodeLocation function;
        std::uint64_t instructions = 0;  // with those of stacks that were folded into it
        StackId into = no_stack;         // the stack that it was folded into
        StackId next = no_stack;         // of the same callers
    };

    std::optional<StackId> find(Caller caller, CodeLocation function) const;
    void link(StackId stack, Caller caller);
    void fold_colder_than(std::uint64_t limit, Caller caller);
    void fold_coldest(std::uint64_t max_bytes);
    void settle();

    std::vector<CallerNode> callers_;
    std::vector<Entry> stacks_;
    IndexTable caller_index_, stack_index_;
    std::uint64_t bytes_ = 0, instructions_ = 0;
};

}  // namespace shadowprof
