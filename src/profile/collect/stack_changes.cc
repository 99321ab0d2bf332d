#include "profile/collect/stack_changes.h"

#include <algorithm>
#include <utility>

namespace shadowprof {
namespace {

constexpr std::uint32_t max_threads = std::uint32_t{1} << 20;

// Leaves what both have at their beginnings.
template <typename T>
void keep_common(std::vector<T>& known, const std::vector<T>& other) {
    known.erase(std::ranges::mismatch(known, other).in1, known.end());
}

// The context that was interrupted at `at`, if `context` is of a stack that was unwound in the
// handler: between them is the call of what returns from the handler.
ContextId interrupted(const StackTree& tree, ContextId context, CodeLocation at) {
    const ContextId returns = tree.parent(context);
    const bool is_unwound = tree.calls(context) >= 2 && tree.frame(returns).return_to == at;
    return is_unwound ? tree.parent(returns) : context;
}

}  // namespace

void StackChanges::begin_sample() {
    threads_.clear();
    suspended_.clear();
}

void StackChanges::take(const ProbeRecord& note, AddressResolver& resolver) {
    if (note.thread >= max_threads) return;
    if (note.thread >= threads_.size()) threads_.resize(note.thread + std::size_t{1});
    Thread& thread = threads_[note.thread];
    if (note.probe == stack_change_note) {
        thread.change = Change{.at = resolver.resolve(note.pc),
                               .from = note.value,
                               .to = note.key,
                               .may_leave_frames = (note.missed & stack_may_leave_frames) != 0,
                               .returns_by_jump = (note.missed & stack_returns_by_jump) != 0};
    } else if (note.probe == stack_set_note) {
        thread.interrupt = Interrupt{.from = note.value,
                                     .to = note.key,
                                     .at = resolver.resolve(note.pc),
                                     .ends = note.missed != 0};
    } else if (thread.change && thread.change->words.size() < max_words) {
        // As a return address: the call before it may end its module.
        const CodeLocation call = resolver.resolve({note.value - 1});
        const CodeLocation return_to{call.module, call.address + 1};
        if (note.key == thread.change->to) {
            thread.change->top = return_to;
        } else {
            thread.change->words.push_back({return_to, note.missed});
            thread.change->addresses.push_back(note.key);
        }
    }
}

std::vector<ContextId*> StackChanges::contexts() {
    std::vector<ContextId*> contexts;
    suspended_.for_each([&](Calls& calls) { contexts.push_back(&calls.context); });
    return contexts;
}

LeftStack StackChanges::Change::stack_from(std::uint64_t address) const {
    const auto first = std::ranges::find_if(addresses, [&](auto each) { return each >= address; });
    return {.words = std::span(words).subspan(static_cast<std::size_t>(first - addresses.begin())),
            .top = top,
            .returns_by_jump = returns_by_jump};
}

// Whether the thread has calls left over when it leaves those with return addresses in `stack`.
bool StackChanges::leaves_frames(const Followers& followers, const LeftStack& stack) {
    if (followers.tree)
        return followers.tree->calls(followers.tree->leave(followers.context, stack)) != 0;
    return followers.costs->calls_behind(followers.thread, stack) != 0;
}

// The same for calls that are suspended. A stack without any ends below the stack pointer.
bool StackChanges::leaves_calls(const Followers& followers, const Calls& calls,
                                const LeftStack& stack) {
    if (followers.tree)
        return followers.tree->calls(followers.tree->leave(calls.context, stack)) != 0;
    LeftFrames frames(stack);
    for (std::size_t i = calls.costs.size(); i > 1 && frames.goes_on(); --i)
        frames.look_at(calls.costs[i - 1].return_to);
    return calls.costs.size() > frames.left() + 1;
}

// Where the function returns to that has made the innermost call.
std::optional<CodeLocation> StackChanges::return_of_caller(const Followers& followers,
                                                           const Calls& calls) {
    if (const StackTree* tree = followers.tree) {
        if (tree->calls(calls.context) < 2) return std::nullopt;
        return tree->frame(tree->parent(calls.context)).return_to;
    }
    if (calls.costs.size() < 2) return std::nullopt;
    return calls.costs.end()[-2].return_to;
}

ContextId StackChanges::leave(const Followers& followers, ContextId context,
                              const LeftStack& stack) {
    if (followers.costs) followers.costs->leave(followers.thread, stack);
    return followers.tree ? followers.tree->leave(context, stack) : context;
}

void StackChanges::suspend(const Followers& followers, std::uint64_t stack_pointer, Calls calls) {
    suspended_.add(stack_pointer, std::move(calls), [&](Calls& known, const Calls& other) {
        if (followers.tree) known.context = followers.tree->common(known.context, other.context);
        keep_common(known.costs, other.costs);
        known.scripts.clear();
    });
}

// Takes off the calls that the thread has in progress.
StackChanges::Calls StackChanges::take_calls(const Followers& followers) {
    Calls calls{.context = followers.context};
    if (followers.costs) calls.costs = followers.costs->suspend(followers.thread);
    if (followers.scripts) calls.scripts = followers.scripts->suspend(followers.thread);
    return calls;
}

// The thread's own calls are over or suspended.
ContextId StackChanges::resume(const Followers& followers, Calls calls) {
    if (followers.costs) followers.costs->resume(followers.thread, calls.costs);
    if (followers.scripts) followers.scripts->resume(followers.thread, std::move(calls.scripts));
    return calls.context;
}

// The thread has no calls on its stack. Returns the context of the function that executes.
ContextId StackChanges::begin_stack(const Followers& followers) {
    if (!followers.tree) return followers.context;
    const CodeLocation function = followers.tree->frame(followers.context).function;
    return followers.tree->child(0, {StackFrame::no_return, function});
}

ContextId StackChanges::change_behind(const Followers& followers) {
    const Change change = *std::exchange(threads_[followers.thread].change, {});
    const LeftStack left = change.stack_from(change.from);
    if (change.may_leave_frames && leaves_frames(followers, left)) {
        suspended_.forget(change.from, change.to);
        return leave(followers, followers.context, left);
    }
    auto found = suspended_.take(change.to, [&](const Calls& calls, std::uint64_t stack_pointer) {
        const auto bytes = change.to - stack_pointer;
        if (bytes <= max_switch_bytes) return true;
        const bool is_noted = calls.is_interrupted || bytes <= noted_stack_bytes ||
                              (change.may_leave_frames && stack_pointer >= change.from);
        return is_noted && leaves_calls(followers, calls, change.stack_from(stack_pointer));
    });
    const auto left_before = std::exchange(threads_[followers.thread].left_at, change.from);
    suspend(followers, change.from, take_calls(followers));
    if (found) {
        const ContextId context = resume(followers, std::move(found->calls));
        return leave(followers, context, change.stack_from(found->stack_pointer));
    }
    auto moved = left_before ? take_moved(followers, *left_before, change.top) : std::nullopt;
    return resume(followers, moved ? std::move(*moved) : Calls{.context = begin_stack(followers)});
}

// Takes the calls of the stack that was left at `left_at` if it may have moved to where the thread
// goes on, with the return address `top`. Go copies the stack of a goroutine that needs more room,
// on another stack. The goroutine goes on at the beginning of the function that needs it, which has
// called what copies.
std::optional<StackChanges::Calls> StackChanges::take_moved(const Followers& followers,
                                                            std::uint64_t left_at,
                                                            std::optional<CodeLocation> top) {
    const auto is_moved = [&](const Calls& calls, std::uint64_t stack_pointer) {
        return top && stack_pointer == left_at && return_of_caller(followers, calls) == top;
    };
    auto found = suspended_.take(left_at, is_moved);
    if (!found) return std::nullopt;
    Calls calls = std::move(found->calls);
    if (followers.tree) calls.context = followers.tree->parent(calls.context);
    if (!calls.costs.empty()) calls.costs.pop_back();
    return calls;
}

ContextId StackChanges::change_before(const Followers& followers, CodeLocation entry) {
    const Interrupt interrupt = *std::exchange(threads_[followers.thread].interrupt, {});
    if (!interrupt.ends) return this->interrupt(followers, interrupt, entry);
    if (auto found = suspended_.take_exactly(interrupt.to))
        return resume(followers, std::move(found->calls));
    // The interrupted call was in progress when the sample began.
    const StackTree* tree = followers.tree;
    const bool has_caller = tree && tree->calls(followers.context) != 0;
    return has_caller ? tree->parent(followers.context) : followers.context;
}

// What is interrupted calls the handler.
ContextId StackChanges::interrupt(const Followers& followers, const Interrupt& by,
                                  CodeLocation handler) {
    const StackTree* tree = followers.tree;
    const ContextId before =
        tree ? interrupted(*tree, followers.context, by.at) : followers.context;
    Calls calls = take_calls(followers);
    calls.context = before;
    calls.is_interrupted = true;
    resume(followers, calls);
    suspend(followers, by.from, std::move(calls));
    if (followers.costs)
        followers.costs->interrupt(followers.thread, behind_interrupted(by.at), handler);
    if (!followers.tree) return followers.context;
    return followers.tree->call(before, {behind_interrupted(by.at), handler});
}

}  // namespace shadowprof
