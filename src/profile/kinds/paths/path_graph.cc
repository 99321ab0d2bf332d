#include "profile/kinds/paths/path_graph.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace shadowprof {
namespace {

// Limits of a graph, some 60 MiB. With more, cache misses cost more than folding.
constexpr std::size_t max_nodes = 1 << 18;
constexpr std::size_t max_links = 1 << 19;
constexpr std::size_t max_tokens = 1 << 22;
constexpr std::size_t max_path_contexts = 1 << 18;

std::uint64_t hash_of(std::uint32_t a, std::uint32_t b) {
    return mix64(static_cast<std::uint64_t>(a) << 32 | b);
}

}  // namespace

PathGraph::PathGraph(const BlockView& blocks, bool keeps_callers)
    : blocks_(blocks), stacks_(keeps_callers) {
    reset_tables();
}

// Path 0 has no blocks. Node 0 is a visit of it in context 0.
void PathGraph::reset_tables() {
    tokens_.clear();
    paths_.assign(1, {});
    parts_.clear();
    nodes_.assign(1, {});
    links_.clear();
    path_index_.clear();
    node_index_.clear();
    link_index_.clear();
    token_steps_.clear();
    path_places_.clear();
    context_places_.clear();
}

bool PathGraph::full() const {
    return nodes_.size() >= max_nodes || links_.size() >= max_links ||
           tokens_.size() + single_paths_.blocks() >= max_tokens ||
           stacks_.size() >= max_path_contexts;
}

std::span<const BlockToken> PathGraph::tokens_of(const PathInfo& path) const {
    return std::span(tokens_).subspan(path.offset, path.length);
}

PathGraph::NodeId PathGraph::start(std::span<const CodeLocation> stack) {
    return node_id(stacks_.initial(stack), 0);
}

PathGraph::Followed PathGraph::skip(NodeId from, std::span<const BlockToken> stream,
                                    std::uint64_t& instructions) {
    ContextId context = nodes_[from].last_context;
    std::size_t at = 0;
    while (instructions != 0 && at + 1 < stream.size()) {
        const CanonicalBlock& block = blocks_[stream[at]];
        if (at == 0) context = stacks_.begin(context, block);
        context = stacks_.step(context, block, blocks_[stream[++at]]).context;
        instructions -= std::min<std::uint64_t>(instructions, block.instructions);
    }
    return {node_id(context, 0), at};
}

void PathGraph::contexts(NodeId from, std::span<const BlockToken> stream,
                         std::vector<ContextId>& contexts) {
    contexts.clear();
    ContextId context = nodes_[from].last_context;
    const BlockToken last = last_block(from);
    const CanonicalBlock* before = last == 0 ? nullptr : &blocks_[last];
    for (const BlockToken token : stream) {
        const CanonicalBlock& block = blocks_[token];
        context =
            before ? stacks_.step(context, *before, block).context : stacks_.begin(context, block);
        contexts.push_back(context);
        before = &block;
    }
}

ContextId PathGraph::last_context(NodeId from, std::span<const BlockToken> stream) {
    if (stream.empty()) return nodes_[from].last_context;
    contexts(from, stream, contexts_);
    return contexts_.back();
}

// Returns the length of the path at the beginning of `stream`; 0 if the stream is too short to
// tell.
std::size_t PathGraph::path_end(std::span<const BlockToken> stream, std::size_t open) const {
    for (std::size_t i = std::max<std::size_t>(open, 1); i < stream.size(); ++i) {
        if (i == max_path_blocks) return i;
        if (blocks_[stream[i]].guest_start <= backward_limit(blocks_[stream[i - 1]])) return i;
    }
    return 0;
}

// Calls take(from, path), which returns the node to go on from, for each path.
template <typename Take>
PathGraph::Followed PathGraph::take_paths(NodeId from, std::span<const BlockToken> stream,
                                          std::size_t open, Take take) {
    std::size_t at = 0;
    while (const std::size_t length = path_end(stream.subspan(at), open)) {
        from = take(from, stream.subspan(at, length));
        at += length;
        open = 0;
    }
    return {from, at};
}

PathGraph::Followed PathGraph::follow(NodeId from, std::span<const BlockToken> stream,
                                      std::size_t open, std::vector<LinkId>& taken) {
    return take_paths(from, stream, open, [&](NodeId node, std::span<const BlockToken> path) {
        taken.push_back(take(node, path));
        return rest(links_[taken.back()].to);
    });
}

PathGraph::Followed PathGraph::follow_and_count(NodeId from, std::span<const BlockToken> stream,
                                                std::size_t open, std::uint64_t times) {
    return take_paths(from, stream, open, [&](NodeId node, std::span<const BlockToken> path) {
        const auto hash = path_hash(path);
        const auto known = find_path(path, hash);
        if (!known && single_paths_.is_first(hash)) return take_single(node, path, times);
        const LinkId link = link_id(node, known ? *known : add_path(path, hash));
        count(link, times);
        return rest(links_[link].to);
    });
}

// Counts a path without a link. Returns the node to go on from.
PathGraph::NodeId PathGraph::take_single(NodeId from, std::span<const BlockToken> path,
                                         std::uint64_t times) {
    const auto before = tokens_of(paths_[nodes_[from].path]);
    const auto [context, mismatch] = first_step(from, blocks_[path.front()]);
    single_paths_.add(before.empty() ? 0 : before.back(), path, times);
    if (before.empty()) context_samples_.add_at(context, times);
    std::uint32_t mismatches = mismatch;
    const auto last = trace_contexts(context, path, mismatches, [&](const Part& part) {
        context_instructions_.add_at(part.context, times * part.instructions);
    });
    single_mismatches_ += times * mismatches;
    return rest(last, path.back());
}

void PathGraph::finish(NodeId at, std::span<const BlockToken> rest, std::uint64_t times) {
    assert(rest.size() <= max_path_blocks);
    if (times == 0) return;
    if (!rest.empty()) {
        const LinkId link = take(at, rest);
        count(link, times);
        at = links_[link].to;
    }
    if (nodes_[at].ends == 0) end_nodes_.push_back(at);
    nodes_[at].ends += times;
}

PathGraph::NodeId PathGraph::cut(NodeId at, std::span<const BlockToken> rest, std::uint64_t times) {
    const auto context = last_context(at, rest);
    const auto last = rest.empty() ? last_block(at) : rest.back();
    finish(at, rest, times);
    return node_id(context, 0, last);
}

PathGraph::NodeId PathGraph::go_on_in(ContextId context, NodeId at,
                                      std::span<const BlockToken> rest, std::uint64_t times) {
    if (!rest.empty()) {
        const LinkId link = take(at, rest);
        count(link, times);
        at = links_[link].to;
    }
    const auto path = tokens_of(paths_[nodes_[at].path]);
    return path.empty() ? node_id(context, 0, nodes_[at].after) : this->rest(context, path.back());
}

BlockToken PathGraph::last_block(NodeId node) const {
    const auto path = tokens_of(paths_[nodes_[node].path]);
    return path.empty() ? nodes_[node].after : path.back();
}

std::optional<PathGraph::PathId> PathGraph::find_path(std::span<const BlockToken> path,
                                                      std::uint64_t hash) const {
    return path_index_.find(
        hash, [&](std::uint32_t i) { return std::ranges::equal(tokens_of(paths_[i]), path); });
}

PathGraph::PathId PathGraph::path_id(std::span<const BlockToken> path) {
    const auto hash = path_hash(path);
    const auto found = find_path(path, hash);
    return found ? *found : add_path(path, hash);
}

PathGraph::PathId PathGraph::add_path(std::span<const BlockToken> path, std::uint64_t hash) {
    path_index_.insert(hash, paths_.size());
    paths_.push_back(
        {static_cast<std::uint32_t>(tokens_.size()), static_cast<std::uint32_t>(path.size())});
    tokens_.insert(tokens_.end(), path.begin(), path.end());
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
    const ContextStep step = first_step(from, blocks_[tokens_[info.offset]]);
    const Link link{.to = node_id(step.context, path), .from = from, .mismatch = step.mismatch};
    links_.push_back(link);
    return static_cast<LinkId>(links_.size() - 1);
}

// The step from a visit to the first block of the next one.
ContextStep PathGraph::first_step(NodeId from, const CanonicalBlock& first) {
    const auto context = nodes_[from].last_context;
    const auto before = last_block(from);
    if (before == 0) return {stacks_.begin(context, first), false};
    return stacks_.step(context, blocks_[before], first);
}

// What follows a visit depends only on its last block and context. So visits with the same ones
// continue from one node: a visit of the one-block path in that context.
PathGraph::NodeId PathGraph::rest(NodeId node) {
    if (nodes_[node].rest != no_node) return nodes_[node].rest;
    const auto path = tokens_of(paths_[nodes_[node].path]);
    if (path.empty()) return node;
    const NodeId rest = this->rest(nodes_[node].last_context, path.back());
    return nodes_[node].rest = rest;
}

PathGraph::NodeId PathGraph::rest(ContextId context, BlockToken last) {
    const NodeId rest = node_id(context, path_id(std::span(&last, 1)));
    return nodes_[rest].rest = rest;
}

PathGraph::NodeId PathGraph::node_id(ContextId context, PathId path, BlockToken after) {
    const std::uint64_t hash = hash_of(context, path) ^ after;
    auto found = node_index_.find(hash, [&](std::uint32_t i) {
        return nodes_[i].context == context && nodes_[i].path == path && nodes_[i].after == after;
    });
    if (found) return *found;
    Node node;
    node.path = path;
    node.after = after;
    node.context = context;
    trace_contexts(node);
    node_index_.insert(hash, nodes_.size());
    nodes_.push_back(node);
    return static_cast<NodeId>(nodes_.size() - 1);
}

// Follows the calls and returns inside the node's path.
void PathGraph::trace_contexts(Node& node) {
    node.first_part = static_cast<std::uint32_t>(parts_.size());
    node.last_context = trace_contexts(node.context, tokens_of(paths_[node.path]), node.mismatches,
                                       [&](const Part& part) { parts_.push_back(part); });
    node.parts = static_cast<std::uint32_t>(parts_.size()) - node.first_part;
}

// Calls visit(part) for each part of a path that begins in `context`, and adds its mismatched
// returns. Returns the last block's context.
template <typename Visit>
ContextId PathGraph::trace_contexts(ContextId context, std::span<const BlockToken> path,
                                    std::uint32_t& mismatches, Visit visit) {
    std::uint32_t instructions = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
        instructions += blocks_[path[i]].instructions;
        if (i + 1 == path.size()) break;
        const ContextStep step = stacks_.step(context, blocks_[path[i]], blocks_[path[i + 1]]);
        mismatches += step.mismatch;
        if (step.context == context) continue;
        visit(Part{context, instructions});
        context = step.context;
        instructions = 0;
    }
    if (instructions != 0) visit(Part{context, instructions});
    return context;
}

void PathGraph::fold_into(FlowTotals& totals, double time_ns) {
    visits_.resize(nodes_.size());
    path_counts_.resize(paths_.size());
    context_instructions_.resize(stacks_.size());
    context_samples_.resize(stacks_.size());
    fold_links(totals);
    fold_nodes(totals);
    fold_paths(totals);
    single_paths_.fold_into(totals);
    totals.add_mismatches(std::exchange(single_mismatches_, 0));
    if (counts_stacks_)
        totals.add_stacks(stacks_, context_places_,
                          {context_instructions_, context_samples_, time_ns});
    context_instructions_.clear();
    context_samples_.clear();
}

void PathGraph::fold_links(FlowTotals& totals) {
    for (const LinkId id : counted_links_) {
        Link& link = links_[id];
        const auto before = tokens_of(paths_[nodes_[link.from].path]);
        const BlockToken first = tokens_of(paths_[nodes_[link.to].path]).front();
        if (before.empty()) {
            totals.add_start(first, link.count);
            context_samples_.add(nodes_[link.to].context, link.count);
        } else {
            if (link.step == StepTotals::unknown) link.step = totals.step_id(before.back(), first);
            totals.add_step(link.step, link.count);
        }
        totals.add_mismatches(link.count * link.mismatch);
        visits_.add(link.to, link.count);
        link.count = 0;
    }
    counted_links_.clear();
}

void PathGraph::fold_nodes(FlowTotals& totals) {
    for (const NodeId id : visits_.touched()) {
        const Node& node = nodes_[id];
        const auto visits = visits_[id];
        path_counts_.add(node.path, visits);
        totals.add_mismatches(visits * node.mismatches);
        for (const Part& part : std::span(parts_).subspan(node.first_part, node.parts))
            context_instructions_.add(part.context, visits * part.instructions);
    }
    visits_.clear();
    for (const NodeId id : end_nodes_) {
        Node& node = nodes_[id];
        const auto path = tokens_of(paths_[node.path]);
        if (!path.empty()) totals.add_end(path.back(), node.ends);
        node.ends = 0;
    }
    end_nodes_.clear();
}

void PathGraph::fold_paths(FlowTotals& totals) {
    token_steps_.resize(tokens_.size(), StepTotals::unknown);
    path_places_.resize(paths_.size());
    for (const PathId id : path_counts_.touched()) {
        const auto steps = std::span(token_steps_).subspan(paths_[id].offset, paths_[id].length);
        totals.add_path(tokens_of(paths_[id]), path_places_[id], steps, path_counts_[id]);
    }
    path_counts_.clear();
}

void PathGraph::clear(std::span<NodeId> current, std::span<ContextId* const> contexts) {
    restart(current, contexts, stacks_.without_contexts());
}

void PathGraph::leave_stacks(std::span<NodeId> current) {
    counts_stacks_ = false;
    restart(current, {}, StackTree(false));
}

void PathGraph::restart(std::span<NodeId> current, std::span<ContextId* const> contexts,
                        StackTree stacks) {
    assert(counted_links_.empty() && end_nodes_.empty());
    struct Kept {
        ContextId context;
        BlockToken after;
        std::vector<BlockToken> path;
    };
    std::vector<Kept> kept;
    for (const NodeId id : current) {
        const Node& node = nodes_[rest(id)];
        const auto path = tokens_of(paths_[node.path]);
        kept.push_back({node.last_context, node.after, {path.begin(), path.end()}});
    }
    const StackTree old = std::exchange(stacks_, std::move(stacks));
    reset_tables();
    for (ContextId* const context : contexts) *context = stacks_.copy(old, *context);
    for (std::size_t i = 0; i < current.size(); ++i) {
        const auto& [context, after, path] = kept[i];
        current[i] = node_id(stacks_.copy(old, context), path.empty() ? 0 : path_id(path), after);
    }
}

}  // namespace shadowprof
