#include "profile/path_graph.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "profile/flow_totals.h"

namespace shadowprof {
namespace {

// Where a graph is full: some 60 MiB. Beyond, caches miss more than folding costs.
constexpr std::size_t max_nodes = 1 << 18;
constexpr std::size_t max_links = 1 << 19;
constexpr std::size_t max_tokens = 1 << 22;
constexpr std::size_t max_contexts = 1 << 18;

constexpr std::size_t guess_bits = 15;

constexpr std::size_t lanes = PathGraph::slack_tokens;

inline __m128i load(const BlockToken* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// How many leading tokens of the two are equal, at least up to `size`. Reads up to `slack_tokens`
// behind `size`.
inline std::size_t equal_prefix(const BlockToken* a, const BlockToken* b, std::size_t size) {
    for (std::size_t i = 0; i < size; i += lanes) {
        const __m128i low = _mm_cmpeq_epi32(load(a + i), load(b + i));
        const __m128i high = _mm_cmpeq_epi32(load(a + i + 4), load(b + i + 4));
        const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
        const auto equal = static_cast<unsigned>(_mm_movemask_epi8(bytes));
        if (equal != 0xff) return i + static_cast<std::size_t>(std::countr_one(equal));
    }
    return size;
}

std::uint64_t hash_of(std::uint32_t a, std::uint32_t b) {
    return mix64(static_cast<std::uint64_t>(a) << 32 | b);
}

}  // namespace

void BlockView::reserve(BlockToken token) {
    if (token < blocks_.size()) return;
    const std::size_t size =
        std::max<std::size_t>({token + std::size_t{1}, 2 * blocks_.size(), 64});
    blocks_.resize(size);
    bounds_.resize(size);
}

void BlockView::learn(BlockToken token) {
    reserve(token);
    if (blocks_[token].instructions != 0) return;
    blocks_[token] = registry_.block(token);
    bounds_[token] = {blocks_[token].guest_start.value,
                      shadowprof::backward_limit(blocks_[token]).value};
}

PathGraph::PathGraph(const BlockView& blocks) : blocks_(blocks) {
    reset_tables();
}

// Link 0 matches nothing, path 0 has no blocks, node 0 is a visit of it in no context.
void PathGraph::reset_tables() {
    tokens_.assign(slack_tokens, 0);
    paths_.assign(1, {});
    parts_.clear();
    nodes_.assign(1, {});
    links_.assign(1, {});
    links_[0].length = ~std::uint32_t{0};
    path_index_.clear();
    node_index_.clear();
    link_index_.clear();
    guesses_.assign(std::size_t{1} << guess_bits, 0);
}

bool PathGraph::full() const {
    return nodes_.size() >= max_nodes || links_.size() >= max_links ||
           tokens_.size() >= max_tokens || stacks_.size() >= max_contexts;
}

std::span<const BlockToken> PathGraph::tokens_of(const PathInfo& path) const {
    return std::span(tokens_).subspan(path.offset, path.length);
}

void PathGraph::start(std::span<const CodeLocation> stack) {
    instructions_ = 0;
    current_ = node_id(stacks_.initial(stack), 0);
}

std::size_t PathGraph::skip(std::span<const BlockToken> stream, std::uint64_t& instructions) {
    ContextId context = nodes_[current_].last_context;
    std::size_t at = 0;
    while (instructions != 0 && at + 1 < stream.size()) {
        const CanonicalBlock& block = blocks_[stream[at]];
        if (context == 0) context = stacks_.initial(std::span(&block.start, 1));
        context = stacks_.step(context, block, blocks_[stream[++at]]).context;
        instructions -= std::min<std::uint64_t>(instructions, block.instructions);
    }
    current_ = node_id(context, 0);
    return at;
}

inline bool PathGraph::follows(const Link& link, const BlockToken* stream) const {
    return equal_prefix(stream, tokens_.data() + link.offset, link.length) >= link.length &&
           blocks_.start(stream[link.length]) <= link.backward_limit;
}

// Where the link is remembered that was taken from here when these blocks came.
inline PathGraph::LinkId& PathGraph::guess(NodeId current, const BlockToken* stream) {
    std::uint64_t next[2];
    std::memcpy(next, stream, sizeof next);
    const std::uint64_t hash =
        next[0] * 0x9e3779b97f4a7c15 + next[1] * 0xd1b54a32d192ed03 + current * 0x8cb92ba72f3d8dd7;
    return guesses_[hash >> (64 - guess_bits)];
}

// The known link that the stream follows; 0 if it does not look like any.
inline PathGraph::LinkId PathGraph::next_link(NodeId current, const BlockToken* stream,
                                              std::size_t size) {
    const LinkId likely = nodes_[current].likely;
    if (links_[likely].length < size && follows(links_[likely], stream)) return likely;
    const LinkId other = guess(current, stream);
    const Link& link = links_[other];
    if (link.from != current || link.length >= size || !follows(link, stream)) return 0;
    return nodes_[current].likely = other;
}

// Consumes visits as long as they can be guessed.
std::size_t PathGraph::take_known(const BlockToken* stream, std::size_t size) {
    std::size_t at = 0;
    std::uint64_t instructions = 0;
    NodeId current = current_;
    while (const LinkId id = next_link(current, stream + at, size - at)) {
        Link& link = links_[id];
        std::size_t times = 1;
        // A loop around one path: how often it repeats shows by comparing the stream with itself.
        // The last repetition is left for the next turn, which looks at how it ends.
        if (link.to == current && link.length * 2 < size - at) {
            const std::size_t limit = size - at - link.length;
            times = equal_prefix(stream + at, stream + at + link.length, limit);
            times = std::max<std::size_t>(1, std::min(times, limit) / link.length);
        }
        link.count += times;
        instructions += times * link.instructions;
        at += times * link.length;
        current = link.to;
    }
    current_ = current;
    instructions_ += instructions;
    return at;
}

// The length of the path that `stream` begins with; 0 if the stream is too short to tell.
std::size_t PathGraph::path_end(std::span<const BlockToken> stream) const {
    const std::size_t limit = std::min(stream.size(), max_path_blocks + 1);
    for (std::size_t i = 1; i < limit; ++i) {
        if (i == max_path_blocks) return i;
        if (blocks_.start(stream[i]) <= blocks_.backward_limit(stream[i - 1])) return i;
    }
    return 0;
}

// Consumes one path that is known to end here.
void PathGraph::take(std::span<const BlockToken> path) {
    const LinkId id = link_id(current_, path_id(path));
    nodes_[current_].likely = id;
    Link& link = links_[id];
    ++link.count;
    instructions_ += link.instructions;
    current_ = link.to;
}

std::size_t PathGraph::advance(std::span<const BlockToken> stream) {
    std::size_t at = 0;
    while (!full()) {
        at += take_known(stream.data() + at, stream.size() - at);
        const std::size_t length = path_end(stream.subspan(at));
        if (length == 0) break;
        const NodeId from = current_;
        take(stream.subspan(at, length));
        guess(from, stream.data() + at) = nodes_[from].likely;
        at += length;
    }
    return at;
}

void PathGraph::finish(std::span<const BlockToken> rest) {
    assert(rest.size() <= max_path_blocks);
    if (!rest.empty()) take(rest);
    ++nodes_[current_].ends;
}

PathGraph::PathId PathGraph::path_id(std::span<const BlockToken> path) {
    const std::uint64_t hash = path_hash(path);
    auto found = path_index_.find(
        hash, [&](std::uint32_t i) { return std::ranges::equal(tokens_of(paths_[i]), path); });
    if (found) return *found;
    PathInfo info{static_cast<std::uint32_t>(tokens_.size() - slack_tokens),
                  static_cast<std::uint32_t>(path.size()), 0};
    tokens_.resize(tokens_.size() - slack_tokens);
    tokens_.insert(tokens_.end(), path.begin(), path.end());
    tokens_.resize(tokens_.size() + slack_tokens);
    for (BlockToken token : path) info.instructions += blocks_[token].instructions;
    path_index_.insert(hash, paths_.size());
    paths_.push_back(info);
    return static_cast<PathId>(paths_.size() - 1);
}

PathGraph::LinkId PathGraph::link_id(NodeId from, PathId path) {
    const std::uint64_t hash = hash_of(from, path);
    auto found = link_index_.find(hash, [&](std::uint32_t i) {
        return links_[i].from == from && nodes_[links_[i].to].path == path;
    });
    if (found) return *found;
    link_index_.insert(hash, links_.size());
    return add_link(from, path);
}

PathGraph::LinkId PathGraph::add_link(NodeId from, PathId path) {
    const PathInfo info = paths_[path];
    const CanonicalBlock& first = blocks_[tokens_[info.offset]];
    const Node& node = nodes_[from];
    const auto before = tokens_of(paths_[node.path]);
    ContextStep step{node.last_context, false};
    if (!before.empty()) step = stacks_.step(node.last_context, blocks_[before.back()], first);
    // A sample without a stack starts in a function of which only this block is known.
    if (step.context == 0) step.context = stacks_.initial(std::span(&first.start, 1));
    const CanonicalBlock& last = blocks_[tokens_[info.offset + info.length - 1]];
    Link link{.backward_limit =
                  info.length == max_path_blocks ? ~std::uint64_t{0} : backward_limit(last).value,
              .offset = info.offset,
              .length = info.length,
              .to = node_id(step.context, path),
              .instructions = static_cast<std::uint32_t>(info.instructions),
              .from = from,
              .mismatch = step.mismatch};
    links_.push_back(link);
    return static_cast<LinkId>(links_.size() - 1);
}

PathGraph::NodeId PathGraph::node_id(ContextId context, PathId path) {
    const std::uint64_t hash = hash_of(context, path);
    auto found = node_index_.find(hash, [&](std::uint32_t i) {
        return nodes_[i].context == context && nodes_[i].path == path;
    });
    if (found) return *found;
    Node node;
    node.path = path;
    node.context = context;
    trace_contexts(node);
    node_index_.insert(hash, nodes_.size());
    nodes_.push_back(node);
    return static_cast<NodeId>(nodes_.size() - 1);
}

// Follows the calls and returns inside the node's path.
void PathGraph::trace_contexts(Node& node) {
    const auto path = tokens_of(paths_[node.path]);
    node.first_part = static_cast<std::uint32_t>(parts_.size());
    ContextId context = node.context;
    std::uint32_t instructions = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
        instructions += blocks_[path[i]].instructions;
        if (i + 1 == path.size()) break;
        const ContextStep step = stacks_.step(context, blocks_[path[i]], blocks_[path[i + 1]]);
        node.mismatches += step.mismatch;
        if (step.context == context) continue;
        parts_.push_back({context, instructions});
        context = step.context;
        instructions = 0;
    }
    if (instructions != 0) parts_.push_back({context, instructions});
    node.last_context = context;
    node.parts = static_cast<std::uint32_t>(parts_.size()) - node.first_part;
}

void PathGraph::fold_into(FlowTotals& totals) {
    std::vector<std::uint64_t> visits(nodes_.size());
    std::vector<std::uint64_t> path_counts(paths_.size());
    std::vector<std::uint64_t> context_instructions(stacks_.size());
    std::vector<std::uint64_t> context_samples(stacks_.size());
    for (Link& link : links_) {
        if (link.count == 0) continue;
        const auto before = tokens_of(paths_[nodes_[link.from].path]);
        const BlockToken first = tokens_[link.offset];
        if (before.empty()) {
            totals.add_start(first, link.count);
            context_samples[nodes_[link.to].context] += link.count;
        } else {
            totals.add_step(before.back(), first, link.count);
        }
        totals.add_mismatches(link.count * link.mismatch);
        visits[link.to] += link.count;
        link.count = 0;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Node& node = nodes_[i];
        path_counts[node.path] += visits[i];
        totals.add_mismatches(visits[i] * node.mismatches);
        for (const Part& part : std::span(parts_).subspan(node.first_part, node.parts))
            context_instructions[part.context] += visits[i] * part.instructions;
        const auto path = tokens_of(paths_[node.path]);
        if (node.ends != 0 && !path.empty()) totals.add_end(path.back(), node.ends);
        node.ends = 0;
    }
    for (std::size_t i = 0; i < paths_.size(); ++i)
        if (path_counts[i] != 0) totals.add_path(tokens_of(paths_[i]), path_counts[i]);
    totals.add_stacks(stacks_, context_instructions, context_samples);
}

// The sample goes on from a visit of the one-block path that was executed last, in its context:
// nothing leads to that node, so it counts nothing by itself.
void PathGraph::clear() {
    const Node current = nodes_[current_];
    const auto path = tokens_of(paths_[current.path]);
    const std::vector<BlockToken> last(path.end() - (path.empty() ? 0 : 1), path.end());
    StackTree old;
    std::swap(old, stacks_);
    reset_tables();
    const ContextId context = stacks_.copy(old, current.last_context);
    current_ = node_id(context, last.empty() ? 0 : path_id(last));
}

}  // namespace shadowprof
