// The stacks that threads have left and may come back to: those of coroutines, of goroutines, of
// what a signal interrupts. A stack is known by the stack pointer with which it was left.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace shadowprof {

// `Calls` is what is known of the calls in progress on a stack. Its member `is_interrupted` says
// whether a signal has interrupted them.
template <typename Calls>
class SuspendedStacks {
  public:
    // Adds a stack. If another one was left with the same stack pointer, as happens where programs
    // copy stacks back and forth, `join(known, calls)` leaves in `known` what both have.
    template <typename Join>
    void add(std::uint64_t stack_pointer, Calls calls, Join join) {
        if (stacks_.size() >= max_stacks) stacks_.clear();
        Stacks& stacks = stacks_[stack_pointer];
        if (stacks.count == 0)
            stacks.calls = std::move(calls);
        else
            join(stacks.calls, calls);
        ++stacks.count;
    }
    struct Found {
        Calls calls;
        std::uint64_t stack_pointer = 0;  // with which it was left
    };
    // Takes out the stack that a thread comes back to with this stack pointer: it had the same or a
    // lower one, and `fits(calls, its stack pointer)` is true. Nothing: it is not known.
    template <typename Fits>
    std::optional<Found> take(std::uint64_t stack_pointer, Fits fits) {
        auto at = stacks_.upper_bound(stack_pointer);
        if (at == stacks_.begin()) return std::nullopt;
        --at;
        const auto max_bytes =
            at->second.calls.is_interrupted ? max_stack_bytes : max_distance_bytes;
        if (stack_pointer - at->first > max_bytes || !fits(at->second.calls, at->first))
            return std::nullopt;
        return take_at(at);
    }
    std::optional<Found> take_exactly(std::uint64_t stack_pointer) {
        const auto at = stacks_.find(stack_pointer);
        if (at == stacks_.end()) return std::nullopt;
        return take_at(at);
    }
    // Forgets the stacks from `start` to `end`.
    void forget(std::uint64_t start, std::uint64_t end) {
        stacks_.erase(stacks_.lower_bound(start), stacks_.lower_bound(end));
    }
    void clear() { stacks_.clear(); }
    template <typename Visit>
    void for_each(Visit visit) {
        for (auto& [stack_pointer, stacks] : stacks_) visit(stacks.calls);
    }

  private:
    static constexpr std::size_t max_stacks = std::size_t{1} << 16;
    // Threads come back to where they left a stack, in a caller of the function that did that at
    // the most.
    static constexpr std::uint64_t max_distance_bytes = std::uint64_t{64} << 10;
    // A handler may go on anywhere on the stack that was interrupted.
    static constexpr std::uint64_t max_stack_bytes = std::uint64_t{8} << 20;

    struct Stacks {
        Calls calls;
        std::uint32_t count = 0;
    };
    using Map = std::map<std::uint64_t, Stacks>;

    Found take_at(typename Map::iterator at) {
        Stacks& stacks = at->second;
        if (--stacks.count != 0) return {stacks.calls, at->first};
        Found found{std::move(stacks.calls), at->first};
        stacks_.erase(at);
        return found;
    }

    Map stacks_;
};

}  // namespace shadowprof
