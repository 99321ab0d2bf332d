#include "profile/kinds/stacks/stack_folder.h"

#include <utility>

namespace shadowprof {
namespace {

std::uint64_t hash_of(std::uint32_t caller, CodeLocation location) {
    return mix64(location_hash(location) ^ caller);
}

}  // namespace

StackFolder::Caller StackFolder::called(Caller caller, CodeLocation site) {
    const std::uint64_t hash = hash_of(caller, site);
    const auto found = caller_index_.find(hash, [&](std::uint32_t i) {
        return callers_[i].parent == caller && callers_[i].site == site;
    });
    if (found) return *found;
    caller_index_.insert(hash, callers_.size());
    callers_.push_back({.parent = caller, .calls = callers_[caller].calls + 1, .site = site});
    return static_cast<Caller>(callers_.size() - 1);
}

StackFolder::StackId StackFolder::add(Caller caller, CodeLocation function,
                                      std::uint64_t instructions) {
    instructions_ += instructions;
    if (const auto known = find(caller, function)) {
        stacks_[*known].instructions += instructions;
        return *known;
    }
    const auto stack = static_cast<StackId>(stacks_.size());
    stacks_.push_back(
        {.calls = callers_[caller].calls, .function = function, .instructions = instructions});
    bytes_ += stack_file_bytes(callers_[caller].calls);
    link(stack, caller);
    return stack;
}

std::optional<StackFolder::StackId> StackFolder::find(Caller caller, CodeLocation function) const {
    return stack_index_.find(hash_of(caller, function), [&](std::uint32_t i) {
        return stacks_[i].caller == caller && stacks_[i].function == function &&
               stacks_[i].into == no_stack;
    });
}

void StackFolder::link(StackId stack, Caller caller) {
    Entry& entry = stacks_[stack];
    entry.caller = caller;
    entry.next = std::exchange(callers_[caller].first_stack, stack);
    stack_index_.insert(hash_of(caller, entry.function), stack);
}

void StackFolder::fold_colder_than(std::uint64_t limit, Caller caller) {
    const Caller parent = callers_[caller].parent;
    StackId stack = std::exchange(callers_[caller].first_stack, no_stack);
    while (stack != no_stack) {
        Entry& entry = stacks_[stack];
        const StackId next = entry.next;
        if (entry.instructions >= limit) {
            entry.next = std::exchange(callers_[caller].first_stack, stack);
        } else {
            bytes_ -= stack_file_bytes(callers_[caller].calls);
            if (const auto same = find(parent, entry.function)) {
                entry.into = *same;
                stacks_[*same].instructions += entry.instructions;
            } else {
                bytes_ += stack_file_bytes(callers_[parent].calls);
                link(stack, parent);
            }
        }
        stack = next;
    }
}

// Each round folds the stacks that have fewer instructions than its limit. Callees come before
// their callers, so a stack may be folded several times in a round.
void StackFolder::fold_coldest(std::uint64_t max_bytes) {
    constexpr std::uint64_t first_limits = 1 << 20;
    for (std::uint64_t limit = instructions_ / first_limits + 1;; limit += limit / 4 + 1) {
        for (std::size_t c = callers_.size(); --c > 0;) {
            if (callers_[c].first_stack == no_stack) continue;
            fold_colder_than(limit, static_cast<Caller>(c));
            if (bytes_ <= max_bytes) return;
        }
        if (limit > instructions_) return;
    }
}

// Lets each folded stack lead to the one that is kept, not to one that was folded itself.
void StackFolder::settle() {
    std::vector<StackId> chain;
    for (StackId stack = 0; stack < stacks_.size(); ++stack) {
        StackId at = stack;
        for (; stacks_[at].into != no_stack; at = stacks_[at].into) chain.push_back(at);
        for (const StackId each : chain) stacks_[each].into = at;
        chain.clear();
    }
}

}  // namespace shadowprof
