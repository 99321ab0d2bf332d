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
#include <memory>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "emu/trace/flow_events.h"
#include "profile/code/block_registry.h"
#include "profile/code/index_table.h"
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
    // From now on each transition counts `weight` times.
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
    // Transitions store states multiplied by a hash factor, which saves a step between transitions.
    static constexpr std::uint32_t key_factor = 0x9e3779b1;
    static constexpr std::uint32_t key_inverse = 0xe8b2f51;
    static_assert(key_factor * key_inverse == 1);
    static constexpr std::uint32_t key_of(StateId state) { return state * key_factor; }
    static constexpr StateId state_of(std::uint32_t key) { return key * key_inverse; }
    static constexpr std::uint32_t no_key = no_state * key_factor;
    // Half a cache line. Found by state and record.
    struct Transition {
        std::uint64_t count = 0;
        std::uint32_t from = no_key;
        std::uint32_t id = 0;
        std::uint32_t to = no_key;
        std::uint32_t instructions = 0;
        std::uint32_t first_link = 0;  // index in links_
        std::uint16_t links = 0;
        bool has_values = false;
        std::uint8_t events = 0;
    };
    static_assert(sizeof(Transition) == 32);
    static_assert(max_sequence_parts <= 255);

    static std::size_t place_of(std::uint32_t from, std::uint32_t id, unsigned shift) {
        return (from + id * 0x85ebca6bu) >> shift;
    }
    // Times that records were met, as far as they have no transitions: a bit for each hash of a
    // state and a record. After some time all are forgotten.
    class Sights {
      public:
        // Returns whether it is the first time.
        bool is_first(std::uint32_t from, std::uint32_t id);
        void forget();

      private:
        static constexpr unsigned log2_bits = 21;
        // Few enough that most bits are unset.
        static constexpr std::size_t max_sights = 1 << 18;

        std::vector<bool> seen_;
        std::size_t sights_ = 0;
    };
    void enter(StateId state) {
        state_ = state;
        is_outside_ = false;
    }
    void leave();
    unsigned take_outside(const TraceRecord& record);
    Transition* find(std::uint32_t from, std::uint32_t id);
    Transition& add(const TraceRecord& record);
    void resize_table(std::size_t size);
    void note_count(const Transition& transition) {
        counted_[static_cast<std::size_t>(&transition - table_.data()) / group_size] = true;
    }
    unsigned events_in(std::span<const BlockToken> stream, std::size_t before) const;
    void insert(const Transition& transition);
    void grow();
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
    std::vector<Transition, HugePageAllocator<Transition>> table_;  // open addressing
    // For each group of neighbours in table_: whether any of them may have a count.
    static constexpr std::size_t group_size = 64;
    std::unique_ptr<bool[]> counted_;
    std::size_t used_ = 0;
    unsigned shift_ = 0;
    StateId state_ = 0;
    std::uint64_t weight_ = 1;
    const Adds adds_;
    Sights sights_;
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
    Transition* const table = table_.data();
    const std::size_t last = table_.size() - 1;
    bool* const counted = counted_.get();
    const unsigned shift = shift_;
    const std::uint64_t weight = weight_;
    std::uint64_t instructions = 0;
    std::uint32_t from = key_of(state_);
    while (!rest.at_end()) {
        const std::uint64_t word = rest.id();
        const auto id = static_cast<std::uint32_t>(word);
        const auto slot = place_of(from, id, shift);
        Transition* at = table + slot;
        if (at->from != from || at->id != word) {
            // A transition that collided is mostly in the next slot.
            at = table + (slot == last ? 0 : slot + 1);
            if (at->from != from || at->id != word) break;
        }
        const auto place = [&] { return Position{state_of(from)}; };
        if (!limit_left.allows(at->events) || !rest.pass(id, at->has_values, place)) break;
        limit_left.count(at->events);
        at->count += weight;
        counted[static_cast<std::size_t>(at - table) / group_size] = true;
        instructions += at->instructions;
        from = at->to;
    }
    state_ = state_of(from);
    records = rest;
    limit = limit_left;
    return instructions;
}

}  // namespace shadowprof
