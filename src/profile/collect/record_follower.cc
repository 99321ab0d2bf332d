#include "profile/collect/record_follower.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "profile/kinds/paths/path_store.h"

namespace shadowprof {
namespace {

constexpr std::size_t min_places = 1 << 12;
// 16 MiB of transitions. With more, cache misses cost more than starting again.
constexpr std::size_t max_transitions = 1 << 19;
constexpr std::size_t max_states = 1 << 19;

}  // namespace

RecordFollower::RecordFollower(PathGraph& graph, const std::vector<BlockToken>& tokens, Adds adds)
    : graph_(graph), tokens_(tokens), adds_(adds) {
    forget();
}

void RecordFollower::start(PathGraph::NodeId node, std::span<const BlockToken> pending) {
    if (pending.empty()) {
        enter(state_id({.node = node}));
        return;
    }
    const auto size = static_cast<std::uint32_t>(pending.size());
    states_.push_back(
        {node, started, static_cast<std::uint32_t>(started_with_.size()), size, size});
    started_with_.insert(started_with_.end(), pending.begin(), pending.end());
    enter(static_cast<StateId>(states_.size() - 1));
}

unsigned RecordFollower::take(const TraceRecord& record) {
    if (is_outside_) return take_outside(record);
    TransitionId known = find(state_, record.id);
    if (known == nothing && adds_ == Adds::at_second_time && is_first_time(record.id)) {
        leave();
        return take_outside(record);
    }
    if (known == nothing) known = add(record);
    transitions_[taken_last_].next = known;
    Transition& transition = transitions_[known];
    transition.count += weight_;
    counted_[known / group_size] = true;
    state_ = transition.to;
    taken_last_ = known;
    return transition.events;
}

void RecordFollower::leave() {
    outside_node_ = states_[state_].node;
    copy_pending(state_, outside_blocks_);
    is_outside_ = true;
}

// Where a path ends in the record, all blocks that are left are the record's own, so that they make
// a state that is met again.
unsigned RecordFollower::take_outside(const TraceRecord& record) {
    const auto open = outside_blocks_.size();
    const auto blocks = std::span(tokens_).subspan(record.first_block, record.blocks);
    outside_blocks_.insert(outside_blocks_.end(), blocks.begin(), blocks.end());
    const unsigned events = events_in(outside_blocks_, open);
    const auto followed = graph_.follow_and_count(outside_node_, outside_blocks_, open, weight_);
    if (followed.blocks == 0) return events;
    const auto left = static_cast<std::uint32_t>(outside_blocks_.size() - followed.blocks);
    enter(state_id({.node = followed.node,
                    .first_block = record.first_block + record.blocks - left,
                    .blocks = left,
                    .pending = left}));
    return events;
}

void RecordFollower::finish() {
    graph_.finish(node(), pending(), weight_);
}

void RecordFollower::cut() {
    start(graph_.cut(node(), pending(), weight_), {});
}

bool RecordFollower::full() const {
    return transitions_.size() >= max_transitions || states_.size() >= max_states;
}

void RecordFollower::flush() {
    for (std::size_t group = 0; group < counted_.size(); ++group) {
        if (!std::exchange(counted_[group], std::uint8_t{0})) continue;
        const auto end = std::min((group + 1) * group_size, transitions_.size());
        for (std::size_t i = group * group_size; i < end; ++i) {
            if (transitions_[i].count == 0) continue;
            const auto first = transitions_[i - 1].link_end;
            for (const auto link :
                 std::span(links_).subspan(first, transitions_[i].link_end - first))
                graph_.count(link, transitions_[i].count);
            transitions_[i].count = 0;
        }
    }
}

void RecordFollower::forget() {
    states_.assign(1, {});
    state_index_.clear();
    sights_.forget();
    enter(0);
    started_with_.clear();
    links_.clear();
    transitions_.assign(1, {});
    places_.assign(min_places, nothing);
    shift_ = 32 - static_cast<unsigned>(std::countr_zero(min_places));
    counted_.assign(1, 0);
}

RecordFollower::TransitionId RecordFollower::add(const TraceRecord& record) {
    copy_pending(state_, stream_);
    const auto open = stream_.size();
    const auto blocks = std::span(tokens_).subspan(record.first_block, record.blocks);
    stream_.insert(stream_.end(), blocks.begin(), blocks.end());
    taken_.clear();
    const auto followed = graph_.follow(node(), stream_, open, taken_);
    links_.insert(links_.end(), taken_.begin(), taken_.end());
    Transition transition{.from = state_, .id = record.id, .to = next_state(record, followed)};
    transition.link_end = static_cast<std::uint32_t>(links_.size());
    transition.instructions = record.instructions & 0xffffff;
    transition.has_values = record.has_values & 1;
    transition.events = events_in(stream_, open) & 0x7f;
    const auto id = static_cast<TransitionId>(transitions_.size());
    transitions_.push_back(transition);
    counted_.resize(id / group_size + 1);
    if (2 * transitions_.size() > places_.size())
        grow();
    else
        put(id);
    return id;
}

void RecordFollower::put(TransitionId transition) {
    std::size_t place = place_of(transitions_[transition].from, transitions_[transition].id);
    while (places_[place] != nothing) place = (place + 1) & (places_.size() - 1);
    places_[place] = transition;
}

void RecordFollower::grow() {
    places_.assign(4 * places_.size(), nothing);
    shift_ -= 2;
    for (TransitionId i = 1; i < transitions_.size(); ++i) put(i);
}

// The number of events at the steps to the blocks of `stream` from index `before` on.
unsigned RecordFollower::events_in(std::span<const BlockToken> stream, std::size_t before) const {
    const BlockView& blocks = graph_.blocks();
    unsigned events = 0;
    for (std::size_t i = std::max<std::size_t>(before, 1); i < stream.size(); ++i)
        events += is_event(events_, blocks[stream[i - 1]], blocks[stream[i]]);
    return events;
}

// Returns the state with the blocks that `followed` left pending. They are all the record's own
// unless no path ended; then the pending blocks from before come first.
RecordFollower::StateId RecordFollower::next_state(const TraceRecord& record,
                                                   const PathGraph::Followed& followed) {
    const auto left = static_cast<std::uint32_t>(stream_.size() - followed.blocks);
    if (left <= record.blocks)
        return state_id({.node = followed.node,
                         .first_block = record.first_block + record.blocks - left,
                         .blocks = left,
                         .pending = left});
    states_.push_back({followed.node, state_, record.first_block, record.blocks, left});
    return static_cast<StateId>(states_.size() - 1);
}

// Returns the state, which must have no blocks from a state before.
RecordFollower::StateId RecordFollower::state_id(const State& state) {
    const auto blocks = own_blocks(state);
    const std::uint64_t hash = mix64(path_hash(blocks) ^ state.node);
    const auto found = state_index_.find(hash, [&](std::uint32_t i) {
        return states_[i].node == state.node && std::ranges::equal(own_blocks(states_[i]), blocks);
    });
    if (found) return *found;
    state_index_.insert(hash, states_.size());
    states_.push_back(state);
    return static_cast<StateId>(states_.size() - 1);
}

std::span<const BlockToken> RecordFollower::own_blocks(const State& state) const {
    const auto& tokens = state.before == started ? started_with_ : tokens_;
    return std::span(tokens).subspan(state.first_block, state.blocks);
}

std::vector<BlockToken> RecordFollower::pending(Position place) const {
    std::vector<BlockToken> blocks;
    copy_pending(static_cast<StateId>(place), blocks);
    return blocks;
}

void RecordFollower::copy_pending(StateId state, std::vector<BlockToken>& to) const {
    auto end = states_[state].pending;
    to.resize(end);
    for (StateId id = state; end != 0; id = states_[id].before) {
        // Mostly a few blocks, for which a loop is faster than a call.
        const auto blocks = own_blocks(states_[id]);
        for (auto i = blocks.size(); i-- > 0;) to[--end] = blocks[i];
    }
}

}  // namespace shadowprof
