#include "profile/collect/record_follower.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "profile/kinds/paths/path_store.h"

namespace shadowprof {
namespace {

constexpr std::size_t min_places = 1 << 12;
// 32 MiB of transitions. With more, cache misses cost more than starting again.
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
    Transition* known = find(key_of(state_), record.id);
    if (!known && adds_ == Adds::at_second_time && sights_.is_first(key_of(state_), record.id)) {
        leave();
        return take_outside(record);
    }
    Transition& transition = known ? *known : add(record);
    transition.count += weight_;
    note_count(transition);
    state_ = state_of(transition.to);
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
    taken_.clear();
    const auto followed = graph_.follow(outside_node_, outside_blocks_, open, taken_);
    if (taken_.empty()) return events;
    for (const auto link : taken_) graph_.count(link, weight_);
    const auto left = static_cast<std::uint32_t>(outside_blocks_.size() - followed.blocks);
    enter(state_id({.node = followed.node,
                    .first_block = record.first_block + record.blocks - left,
                    .blocks = left,
                    .pending = left}));
    return events;
}

bool RecordFollower::Sights::is_first(std::uint32_t from, std::uint32_t id) {
    if (seen_.empty()) seen_.resize(std::size_t{1} << log2_bits);
    const auto place = place_of(from, id, 32 - log2_bits);
    if (seen_[place]) return false;
    if (sights_ == max_sights) forget();
    seen_[place] = true;
    ++sights_;
    return true;
}

void RecordFollower::Sights::forget() {
    std::fill(seen_.begin(), seen_.end(), false);
    sights_ = 0;
}

void RecordFollower::finish() {
    graph_.finish(node(), pending(), weight_);
}

bool RecordFollower::full() const {
    return used_ >= max_transitions || states_.size() >= max_states;
}

void RecordFollower::flush() {
    for (std::size_t group = 0; group * group_size < table_.size(); ++group) {
        if (!std::exchange(counted_[group], false)) continue;
        for (Transition& transition : std::span(table_).subspan(group * group_size, group_size)) {
            if (transition.count == 0) continue;
            for (auto link : std::span(links_).subspan(transition.first_link, transition.links))
                graph_.count(link, transition.count);
            transition.count = 0;
        }
    }
}

void RecordFollower::resize_table(std::size_t size) {
    static_assert(min_places % group_size == 0);
    table_.assign(size, {});
    counted_ = std::make_unique<bool[]>(size / group_size);
}

void RecordFollower::forget() {
    states_.assign(1, {});
    state_index_.clear();
    sights_.forget();
    enter(0);
    started_with_.clear();
    links_.clear();
    resize_table(min_places);
    used_ = 0;
    shift_ = 32 - static_cast<unsigned>(std::countr_zero(min_places));
}

RecordFollower::Transition* RecordFollower::find(std::uint32_t from, std::uint32_t id) {
    for (std::size_t place = place_of(from, id, shift_);;
         place = (place + 1) & (table_.size() - 1)) {
        Transition& transition = table_[place];
        if (transition.from == from && transition.id == id) return &transition;
        if (transition.from == no_key) return nullptr;
    }
}

RecordFollower::Transition& RecordFollower::add(const TraceRecord& record) {
    copy_pending(state_, stream_);
    const auto open = stream_.size();
    const auto blocks = std::span(tokens_).subspan(record.first_block, record.blocks);
    stream_.insert(stream_.end(), blocks.begin(), blocks.end());
    taken_.clear();
    const auto followed = graph_.follow(node(), stream_, open, taken_);
    const Transition transition{.from = key_of(state_),
                                .id = record.id,
                                .to = key_of(next_state(record, followed)),
                                .instructions = record.instructions,
                                .first_link = static_cast<std::uint32_t>(links_.size()),
                                .links = static_cast<std::uint16_t>(taken_.size()),
                                .has_values = record.has_values,
                                .events = static_cast<std::uint8_t>(events_in(stream_, open))};
    links_.insert(links_.end(), taken_.begin(), taken_.end());
    if (2 * (used_ + 1) > table_.size()) grow();
    insert(transition);
    ++used_;
    return *find(transition.from, transition.id);
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

void RecordFollower::insert(const Transition& transition) {
    auto place = place_of(transition.from, transition.id, shift_);
    while (table_[place].from != no_key) place = (place + 1) & (table_.size() - 1);
    table_[place] = transition;
    if (transition.count != 0) note_count(table_[place]);
}

void RecordFollower::grow() {
    const auto old = std::move(table_);
    resize_table(4 * old.size());
    shift_ -= 2;
    for (const Transition& transition : old)
        if (transition.from != no_key) insert(transition);
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
