#include "profile/flow_totals.h"

#include <algorithm>

#include "profile/flow.h"
#include "profile/join.h"
#include "profile/path_graph.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t step_key(BlockToken from, BlockToken to) {
    return static_cast<std::uint64_t>(from) << 32 | to;
}
constexpr BlockToken from_of(std::uint64_t key) {
    return static_cast<BlockToken>(key >> 32);
}
constexpr BlockToken to_of(std::uint64_t key) {
    return static_cast<BlockToken>(key);
}

}  // namespace

FlowTotals::FlowTotals(const FlowLimits& limits) : limits_(limits), paths_(limits.paths) {
    contexts_.resize(stacks_.size());
}

FlowTotals::BlockTotals& FlowTotals::block(BlockToken token) {
    if (token >= blocks_.size()) blocks_.resize(std::max<std::size_t>(token + 1, 2 * token));
    return blocks_[token];
}

void FlowTotals::add_start(BlockToken token, std::uint64_t count) {
    block(token).starts += count;
}
void FlowTotals::add_end(BlockToken token, std::uint64_t count) {
    block(token).ends += count;
}

void FlowTotals::add_step(BlockToken from, BlockToken to, std::uint64_t count) {
    if (!steps_.add_within(limits_.steps, step_key(from, to), count)) steps_left_out_ += count;
}

void FlowTotals::add_path(std::span<const BlockToken> path, std::uint64_t count) {
    for (std::size_t i = 0; i < path.size(); ++i) {
        block(path[i]).executions += count;
        if (i != 0) add_step(path[i - 1], path[i], count);
    }
    paths_.add(path, count);
}

void FlowTotals::add_stacks(const StackTree& tree, std::span<const std::uint64_t> instructions,
                            std::span<const std::uint64_t> samples) {
    // Which context of ours stands for each of the tree's: the same, or where there are too many,
    // the nearest of its ancestors that we have. Parents come before their children.
    struct Place {
        ContextId context = 0;
        bool folded = false;
    };
    std::vector<Place> places(tree.size());
    for (ContextId c = 0; c < tree.size(); ++c) {
        const bool visible = tree.visible(c) == c;
        Place place = places[tree.parent(c)];
        if (c != 0 && visible && !place.folded) {
            auto child = stacks_.child_within(limits_.contexts, place.context, tree.frame(c));
            place = {child.value_or(place.context), !child};
        }
        places[c] = place;
        contexts_.resize(stacks_.size());
        contexts_[place.context].instructions += instructions[c];
        contexts_[place.context].samples += samples[c];
        if (place.folded || !visible) folded_instructions_ += instructions[c];
    }
}

Result<void> FlowTotals::check(const BlockRegistry& registry) const {
    if (steps_left_out_ == 0) TRY(check_conservation());
    return check_instructions(registry);
}

Result<void> FlowTotals::check_conservation() const {
    std::vector<std::uint64_t> in(blocks_.size()), out(blocks_.size());
    for (const auto& [key, count] : steps_.entries()) {
        out.at(from_of(key)) += count;
        in.at(to_of(key)) += count;
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const BlockTotals& b = blocks_[i];
        if (in[i] + b.starts != b.executions || out[i] + b.ends != b.executions)
            return Error{
                ErrorCode::invalid, 0,
                fmt::format("block {} was executed {} times, but entered {} + {} times and "
                            "left {} + {} times",
                            i, b.executions, in[i], b.starts, out[i], b.ends)};
    }
    return {};
}

Result<void> FlowTotals::check_instructions(const BlockRegistry& registry) const {
    std::uint64_t by_block = 0, by_stack = 0;
    for (BlockToken token = 1; token < blocks_.size(); ++token)
        if (blocks_[token].executions != 0)
            by_block += blocks_[token].executions * registry.block(token).instructions;
    for (const ContextTotals& context : contexts_) by_stack += context.instructions;
    if (by_block != instructions_ || by_stack != instructions_)
        return Error{ErrorCode::invalid, 0,
                     fmt::format("{} instructions by samples, {} by blocks, {} by stacks",
                                 instructions_, by_block, by_stack)};
    return {};
}

void FlowTotals::fill(Profile& profile, const BlockRegistry& registry) const {
    fill_edges(profile, registry);
    fill_paths(profile, registry);
    fill_stacks(profile);
    fill_counters(profile, registry);
}

void FlowTotals::fill_edges(Profile& profile, const BlockRegistry& registry) const {
    std::vector<Edge> edges;
    for (const auto& [key, count] : steps_.entries()) {
        const CanonicalBlock from = registry.block(from_of(key)), to = registry.block(to_of(key));
        if (auto kind = edge_kind(from, to)) edges.push_back({from.last, to.start, *kind, count});
    }
    join_and_sort(edges);
    profile.calls.clear();
    for (const Edge& edge : edges)
        if (edge.kind == EdgeKind::call) profile.calls.push_back({edge.from, edge.to, edge.count});
    profile.edges = std::move(edges);
}

void FlowTotals::fill_paths(Profile& profile, const BlockRegistry& registry) const {
    profile.paths.clear();
    profile.paths.reserve(paths_.size());
    BlockView blocks(registry);
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        Path path{{}, 0, paths_.count(i)};
        path.blocks.reserve(paths_.blocks(i).size());
        for (BlockToken token : paths_.blocks(i)) {
            blocks.learn(token);
            const CanonicalBlock& block = blocks[token];
            path.blocks.push_back(block.start);
            path.instructions += block.instructions;
        }
        profile.paths.push_back(std::move(path));
    }
    join_and_sort(profile.paths);
}

void FlowTotals::fill_stacks(Profile& profile) const {
    profile.stacks.clear();
    for (ContextId context = 0; context < contexts_.size(); ++context) {
        const ContextTotals& totals = contexts_[context];
        if (totals.instructions == 0 && totals.samples == 0) continue;
        profile.stacks.push_back({stacks_.frames(context), totals.instructions, totals.samples});
    }
    join_and_sort(profile.stacks);
}

std::uint64_t FlowTotals::impossible_steps(const BlockRegistry& registry) const {
    std::uint64_t steps = 0;
    for (const auto& [key, count] : steps_.entries())
        if (!is_possible(registry.block(from_of(key)), registry.block(to_of(key)))) steps += count;
    return steps;
}

void FlowTotals::fill_counters(Profile& profile, const BlockRegistry& registry) const {
    auto& counters = profile.sampling.counters;
    counters["blocks"] = registry.blocks();
    counters["mismatched_returns"] = mismatched_returns_;
    counters["impossible_steps"] = impossible_steps(registry);
    counters["paths_given_up"] = paths_.given_up();
    counters["steps_left_out"] = steps_left_out_;
    counters["folded_stack_instructions"] = folded_instructions_;
    if (paths_.given_up() != 0)
        profile.notes.push_back(
            fmt::format("more than {} paths: the coldest, {} executions, are left out",
                        limits_.paths, paths_.given_up()));
    if (steps_left_out_ != 0)
        profile.notes.push_back(fmt::format("more than {} edges: {} executions are left out",
                                            limits_.steps, steps_left_out_));
}

}  // namespace shadowprof
