#include "profile/kinds/allocations/allocation_collector.h"

#include <algorithm>

namespace shadowprof {

// An allocator reaches another one by a call, or by a jump, which may go through a linkage table.
// Behind a jump the second one has the first one's caller and return address.
bool AllocationCollector::is_nested(const Call& call, const StackTree& stacks) {
    if (call.thread >= last_.size()) last_.resize(call.thread + std::size_t{1});
    Last& last = last_[call.thread];
    const ContextId caller = stacks.parent(call.entered);
    const auto return_to = stacks.frame(call.entered).return_to;
    const bool is_called = call.before == caller;
    if (!is_called && last.caller == caller && last.frame.return_to == return_to &&
        last.frame.function != call.function)
        return true;
    last = {caller, {return_to, call.function}};
    return std::ranges::find(allocators_, stacks.frame(caller).function) != allocators_.end();
}

void AllocationCollector::take(const Call& call, const StackTree& stacks, std::uint64_t weight) {
    if (std::ranges::find(allocators_, call.function) == allocators_.end())
        allocators_.push_back(call.function);
    if (is_nested(call, stacks)) return;
    const auto [known, is_new] = by_context_.try_emplace(call.entered, nullptr);
    if (is_new)
        known->second = totals_.entry_of(
            call.function, stacks.callers(call.entered, AllocationTotals::max_callers));
    if (known->second)
        *known->second += {weight, weight * call.bytes};
    else
        totals_.leave_out(weight);
}

}  // namespace shadowprof
