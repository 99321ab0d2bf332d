// Follows the records of a trace through the path graph by a finite automaton, so that the blocks
// of a record need not be looked at where the record was met before. A state is a node of the graph
// and the blocks of a path that is not complete yet. A transition is a record met in a state: it
// stores the graph's links that the record completed, the next state, and how often it was taken.
// flush() adds these counts to the links, exactly.
//
// Some programs have paths without end that are executed once. States and transitions for them
// would cost more than all else, and would crowd out the others. So where a record is met in a
// state for the first time, the thread leaves the automaton: its blocks are looked at one by one
// and its links counted at once, until a path ends. Only at the second time a transition is added.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "emu/trace/flow_events.h"
#include "profile/code/block_registry.h"
#include "profile/code/index_table.h"
#include "profile/code/sights.h"
#include "profile/kinds/paths/path_graph.h"

namespace shadowprof {

// One record, as the trace reader explains it.
struct TraceRecord {
    std::uint32_t id = 0;
    std::uint32_t first_block = 0, blocks = 0;  // in the reader's tokens, in the order of execution
    std::uint32_t instructions = 0;
    bool has_values = false;  // its blocks have values or references
};

class RecordFollower {
  public:
    // Whether transitions are added at the first time already: necessary if place() is asked for
    // before each record, as each place outside of the automaton becomes a state.
    enum class Adds : std::uint8_t { at_first_time, at_second_time };
    // `tokens` are the trace reader's. They may grow, but not change before forget().
    RecordFollower(PathGraph& graph, const std::vector<BlockToken>& tokens,
                   Adds adds = Adds::at_first_time);

    // Sets which steps are events; none at first. A change needs a follower that forgot everything.
    void count_events(EventKinds kinds) { events_ = kinds; }
    EventKinds counted_events() const { return events_; }
    // From now on each transition counts `weight` times, which may be 0.
    void set_weight(std::uint32_t weight) { weight_ = weight; }
    // A thread starts at a node. `pending` blocks were executed and are part of no complete path
    // yet.
    void start(PathGraph::NodeId node, std::span<const BlockToken> pending);
    // Where a thread stands, for going on with it after another one. Valid until forget().
    enum class Position : std::uint32_t {};
    Position place() {
        if (is_outside_) start(outside_node_, outside_blocks_);
        return Position{state_};
    }
    // The node and the pending blocks of a thread that stood at `place`.
    PathGraph::NodeId node(Position place) const {
        return states_[static_cast<StateId>(place)].node;
    }
    std::vector<BlockToken> pending(Position place) const;
    void go_to(Position place) { enter(static_cast<StateId>(place)); }
    // Limits of follow().
    struct ToEnd {  // without a limit
        static constexpr bool allows(unsigned) { return true; }
        static constexpr void count(unsigned) {}
    };
    struct AtMost {
        std::uint64_t events = 0;  // events left

        bool allows(unsigned more) const { return more <= events; }
        void count(unsigned more) { events -= more; }
    };
    // Follows records as long as they were met in this state before and `limit` allows them.
    // Outside of the automaton it follows none. Returns the number of their instructions. `records`
    // has three functions: at_end(); id(), the next record's id; and pass(id, has_values, place),
    // which passes that record, before which the thread stands at place(). If pass() returns false,
    // following ends.
    template <typename Records, typename Limit>
    std::uint64_t follow(Records& records, Limit& limit);
    // Follows any record. Returns the number of its events, beginning with the step to its first
    // block.
    unsigned take(const TraceRecord& record);
    // Ends the thread's sample and its last path.
    void finish();
    // Does the same, and begins another sample at the same place.
    void cut();

    // Ends the thread's path, and goes on in another context.
    void go_on_in(ContextId context) {
        start(graph_.go_on_in(context, node(), pending(), weight_), {});
    }

    // Whether there are so many states or transitions that flush() and forget() are due.
    bool full() const;
    // Moves all counts to the graph's links. Takes time linear in the number of counted
    // transitions.
    void flush();
    // Forgets every state and transition, after which the graph may be cleared too. Needs a flush()
    // first.
    void forget();

    // Where the thread stands.
    PathGraph::NodeId node() const { return is_outside_ ? outside_node_ : states_[state_].node; }
    // The last block executed (0 if there is none), and how many blocks its path has so far.
    BlockToken last_block() const {
        const auto blocks = is_outside_ ? outside_blocks_ : own_blocks(states_[state_]);
        return blocks.empty() ? BlockToken{0} : blocks.back();
    }
    std::size_t pending_blocks() const {
        return is_outside_ ? outside_blocks_.size() : states_[state_].pending;
    }
    std::vector<BlockToken> pending() const {
        return is_outside_ ? outside_blocks_ : pending(Position{state_});
    }

  private:
    using StateId = std::uint32_t;
    static constexpr StateId no_state = ~StateId{0};
    static constexpr StateId started = no_state - 1;  // State::before of a state in which a sample
                                                      // started
    struct State {
        PathGraph::NodeId node = 0;
        StateId before = no_state;                  // its pending blocks come first
        std::uint32_t first_block = 0, blocks = 0;  // then these of the reader's tokens
        std::uint32_t pending = 0;                  // number of pending blocks in all
    };
    // Half a cache line. They lie in the order in which they were added, which is mostly the order
    // in which they are taken, and each knows the one that was last taken after it. So most are
    // found without a search, near the one before.
    using TransitionId = std::uint32_t;
    static constexpr TransitionId nothing = 0;  // a transition from no state
    struct Transition {
        std::uint64_t count = 0;
        StateId from = no_state;
        std::uint32_t id = 0;
        StateId to = 0;
        TransitionId next = nothing;
        std::uint32_t link_end = 0;  // end of its links_, which begin at that of the one before
        std::uint32_t instructions : 24 = 0;
        std::uint32_t has_values : 1 = 0;
        std::uint32_t events : 7 = 0;
    };
    // Blocks have at most 2^16 bytes, so that records have fewer than 2^24 instructions.
    static_assert(sizeof(Transition) == 32 && max_sequence_parts < 1 << 7);

    void enter(StateId state) {
        state_ = state;
        taken_last_ = nothing;
        is_outside_ = false;
    }
    void leave();
    bool is_first_time(std::uint32_t id) {
        return sights_.is_first(mix64(std::uint64_t{state_} << 32 | id));
    }
    unsigned take_outside(const TraceRecord& record);
    std::size_t place_of(StateId from, std::uint32_t id) const {
        return (from * 0x9e3779b1u + id * 0x85ebca6bu) >> shift_;
    }
    // Returns `nothing` if there is none.
    TransitionId find(StateId from, std::uint32_t id) const {
        for (std::size_t place = place_of(from, id);; place = (place + 1) & (places_.size() - 1)) {
            const TransitionId found = places_[place];
            const Transition& transition = transitions_[found];
            if (found == nothing || (transition.from == from && transition.id == id)) return found;
        }
    }
    void grow();
    void put(TransitionId transition);
    TransitionId add(const TraceRecord& record);
    unsigned events_in(std::span<const BlockToken> stream, std::size_t before) const;
    StateId next_state(const TraceRecord& record, const PathGraph::Followed& followed);
    StateId state_id(const State& state);
    std::span<const BlockToken> own_blocks(const State& state) const;
    void copy_pending(StateId state, std::vector<BlockToken>& to) const;

    PathGraph& graph_;
    const std::vector<BlockToken>& tokens_;
    EventKinds events_{false, false};
    std::vector<State> states_;
    IndexTable state_index_;
    std::vector<BlockToken> started_with_;  // blocks of states whose `before` is `started`
    std::vector<PathGraph::LinkId> links_;
    std::vector<Transition, HugePageAllocator<Transition>> transitions_;
    // Finds transitions by open addressing.
    std::vector<TransitionId, HugePageAllocator<TransitionId>> places_;
    unsigned shift_ = 0;
    // For each group of neighbours in transitions_: whether any of them may have a count.
    static constexpr std::size_t group_size = 64;
    std::vector<std::uint8_t> counted_;
    StateId state_ = 0;
    TransitionId taken_last_ = nothing;  // what led to state_, if known
    std::uint64_t weight_ = 1;
    const Adds adds_;
    Sights sights_;  // of records that have no transition
    // Where the thread stands if it is outside of the automaton: at a node, with pending blocks.
    bool is_outside_ = false;
    PathGraph::NodeId outside_node_ = 0;
    std::vector<BlockToken> outside_blocks_;
    std::vector<BlockToken> stream_;  // scratch
    std::vector<PathGraph::LinkId> taken_;
};

template <typename Records, typename Limit>
std::uint64_t RecordFollower::follow(Records& records, Limit& limit) {
    if (is_outside_) return 0;
    // Copies, which stay in registers: the compiler cannot exclude that counting changes the
    // originals.
    Records rest = records;
    Limit limit_left = limit;
    Transition* const transitions = transitions_.data();
    std::uint8_t* const counted = counted_.data();
    const std::uint64_t weight = weight_;
    std::uint64_t instructions = 0;
    StateId from = state_;
    Transition* before = transitions + taken_last_;
    while (!rest.at_end()) {
        const std::uint64_t word = rest.id();
        const auto id = static_cast<std::uint32_t>(word);
        Transition* at = transitions + before->next;
        if (at->from != from || at->id != word) {
            const TransitionId found = id == word ? find(from, id) : nothing;
            if (found == nothing) break;
            at = transitions + found;
            before->next = found;
        }
        const auto place = [&] { return Position{from}; };
        if (!limit_left.allows(at->events) || !rest.pass(id, at->has_values != 0, place)) break;
        limit_left.count(at->events);
        at->count += weight;
        counted[static_cast<std::size_t>(at - transitions) / group_size] = true;
        instructions += at->instructions;
        from = at->to;
        before = at;
    }
    state_ = from;
    taken_last_ = static_cast<TransitionId>(before - transitions);
    records = rest;
    limit = limit_left;
    return instructions;
}

}  // namespace shadowprof
