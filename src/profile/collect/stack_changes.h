// Follows threads that leave frames of their stack at once, and those that go on to other stacks,
// by what is noted of their stack pointers (emu/trace/probe_record.h). Notes are hostile.
//
// A thread whose stack pointer rises over some of its frames has left them: what lies between tells
// which (left_frames.h). Where that would be all of its calls, or where the stack pointer goes
// elsewhere, it is on another stack. If that was left before, or was copied to there, its calls are
// in progress again; else the thread has none there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emu/trace/probe_record.h"
#include "profile/code/block_registry.h"
#include "profile/collect/script_frames.h"
#include "profile/collect/suspended_stacks.h"
#include "profile/flow/left_frames.h"
#include "profile/kinds/call_costs/call_cost_collector.h"
#include "profile/kinds/stacks/stack_tree.h"

namespace shadowprof {

constexpr bool is_stack_note(const ProbeRecord& record) {
    return record.probe <= stack_change_note && record.probe >= stack_set_note;
}

class StackChanges {
  public:
    // What follows the calls of a thread.
    struct Followers {
        std::uint32_t thread = 0;
        StackTree* tree = nullptr;  // null: contexts have no callers
        ContextId context = 0;      // the thread's
        CallCostCollector* costs = nullptr;
        ScriptFrames* scripts = nullptr;
    };

    // Forgets all threads and stacks.
    void begin_sample();
    void take(const ProbeRecord& note, AddressResolver& resolver);
    // Whether the thread's stack changes behind the next record, or before it.
    bool changes_behind(std::uint32_t thread) const {
        return thread < threads_.size() && threads_[thread].change;
    }
    bool changes_before(std::uint32_t thread) const {
        return thread < threads_.size() && threads_[thread].interrupt;
    }
    // The thread's next record begins at `start`. A change that is noted elsewhere does not come.
    void expect(std::uint32_t thread, CodeLocation start) {
        if (changes_behind(thread) && threads_[thread].change->at != start)
            threads_[thread].change.reset();
    }
    // Changes the stack. Returns the thread's new context.
    ContextId change_behind(const Followers& followers);
    // The same before a record that begins in `entry`.
    ContextId change_before(const Followers& followers, CodeLocation entry);

    // The contexts that threads may come back to. The caller may replace them.
    std::vector<ContextId*> contexts();

  private:
    static constexpr std::size_t max_words = std::size_t{1} << 16;

    // What lies on the stack below `to`, from low addresses to high ones.
    struct Change {
        CodeLocation at;
        std::uint64_t from = 0, to = 0;
        bool may_leave_frames = false, returns_by_jump = false;
        std::vector<StackWords> words;
        std::vector<std::uint64_t> addresses;  // of `words`
        std::optional<CodeLocation> top;       // the word at `to`

        LeftStack stack_from(std::uint64_t address) const;
    };
    struct Interrupt {
        std::uint64_t from = 0, to = 0;
        CodeLocation at;
        bool ends = false;  // its handler returns
    };
    struct Thread {
        std::optional<Change> change;
        std::optional<Interrupt> interrupt;
        std::optional<std::uint64_t> left_at;  // the stack pointer at its last change
    };
    // The calls in progress on a stack.
    struct Calls {
        ContextId context = 0;
        std::vector<CallCostCollector::OpenCall> costs = {};
        std::vector<ScriptFrames::Frame> scripts = {};
        bool is_interrupted = false;
    };

    static bool leaves_frames(const Followers& followers, const LeftStack& stack);
    static bool leaves_calls(const Followers& followers, const Calls& calls,
                             const LeftStack& stack);
    static std::optional<CodeLocation> return_of_caller(const Followers& followers,
                                                        const Calls& calls);
    std::optional<Calls> take_moved(const Followers& followers, std::uint64_t left_at,
                                    std::optional<CodeLocation> top);
    ContextId leave(const Followers& followers, ContextId context, const LeftStack& stack);
    void suspend(const Followers& followers, std::uint64_t stack_pointer, Calls calls);
    static Calls take_calls(const Followers& followers);
    ContextId begin_stack(const Followers& followers);
    ContextId resume(const Followers& followers, Calls calls);
    ContextId interrupt(const Followers& followers, const Interrupt& by, CodeLocation handler);

    std::vector<Thread> threads_;
    SuspendedStacks<Calls> suspended_;
};

}  // namespace shadowprof
