// Takes the calls of allocators from one emulator's trace.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/kinds/allocations/allocation_totals.h"
#include "profile/kinds/stacks/stack_tree.h"

namespace shadowprof {

class AllocationCollector {
  public:
    // An allocator begins.
    struct Call {
        std::uint32_t thread = 0;
        CodeLocation function;  // its entry
        ContextId before = 0;   // of the block before
        ContextId entered = 0;  // of the block with the entry
        std::uint64_t bytes = 0;
    };
    // Contexts are those of `stacks`, which keeps callers. A call by another allocator does not
    // count.
    void take(const Call& call, const StackTree& stacks, std::uint64_t weight);
    // Must be called when contexts have got other numbers.
    void forget() {
        by_context_.clear();
        last_.clear();
    }
    const AllocationTotals& totals() const { return totals_; }

  private:
    // The allocator that was called last, and from where.
    struct Last {
        ContextId caller = 0;
        StackFrame frame;
    };

    bool is_nested(const Call& call, const StackTree& stacks);

    AllocationTotals totals_;
    std::vector<CodeLocation> allocators_;  // those that were called
    std::vector<Last> last_;                // by thread
    std::unordered_map<ContextId, AllocationTotals::Entry*> by_context_;
};

}  // namespace shadowprof
