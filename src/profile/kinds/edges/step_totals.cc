#include "profile/kinds/edges/step_totals.h"

#include <algorithm>

#include "profile/code/index_table.h"
#include "profile/flow/flow.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t key_of(BlockToken from, BlockToken to) {
    return static_cast<std::uint64_t>(from) << 32 | to;
}

}  // namespace

std::vector<CallPair> calls_among(std::span<const Edge> edges, const StubTargets& stubs) {
    std::vector<CallPair> calls;
    for (const Edge& edge : edges) {
        if (edge.kind != EdgeKind::call) continue;
        const auto stub = stubs.find(edge.to);
        const CodeLocation callee = stub == stubs.end() ? edge.to : stub->second;
        calls.push_back({edge.from, callee, edge.count, edge.error});
    }
    join_and_sort(calls);
    return calls;
}

// A late-bound stub first jumps to the loader, whose code has no function here. The most frequent
// target is the function.
StubTargets StepTotals::stub_targets() const {
    std::map<CodeLocation, std::map<CodeLocation, std::uint64_t>> by_stub;
    for_each([&](const Step& step) {
        const auto from = registry_.block(step.from), to = registry_.block(step.to);
        if (from.function && from.function->is_stub && to.function && !to.function->is_stub)
            by_stub[from.function->start][to.function->start] += step.count;
    });
    StubTargets targets;
    for (const auto& [stub, counts] : by_stub)
        targets[stub] = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
                            return a.second < b.second;
                        })->first;
    return targets;
}

StepTotals::StepId StepTotals::step_id(BlockToken from, BlockToken to) {
    if (from >= recent_.size()) recent_.resize(std::max<std::size_t>(from + 1, 2 * recent_.size()));
    auto& [last, before] = recent_[from];
    if (last.to == to) return last.step;
    if (before.to == to) return before.step;
    before = last;
    last = {to, find_or_add(from, to)};
    return last.step;
}

StepTotals::StepId StepTotals::find_or_add(BlockToken from, BlockToken to) {
    const auto step = steps_.find_or_add(max_steps_, key_of(from, to));
    if (!step) return no_step;
    if (*step == edge_ids_.size()) edge_ids_.push_back(edge_id(*step));
    return *step;
}

std::uint64_t StepTotals::count(BlockToken from, BlockToken to) const {
    return steps_.count(key_of(from, to));
}

// Blocks that overlap end with the same branch, so several steps may be one edge.
std::optional<Edge> StepTotals::edge_of(StepId step) const {
    const std::uint64_t key = steps_.entries()[step].key;
    const auto from = registry_.block(static_cast<BlockToken>(key >> 32));
    const auto to = registry_.block(static_cast<BlockToken>(key));
    const auto kind = edge_kind(from, to);
    if (!kind) return std::nullopt;
    return Edge{.from = from.last, .to = to.start, .kind = *kind};
}

StepTotals::EdgeId StepTotals::edge_id(StepId step) {
    const auto edge = edge_of(step);
    if (!edge) return no_edge;
    const std::uint64_t hash = mix64(location_hash(edge->from) ^ (location_hash(edge->to) << 1) ^
                                     static_cast<std::uint64_t>(edge->kind));
    const auto found = edge_index_.find(
        hash, [&](std::uint32_t i) { return identity(*edge_of(steps_of_[i])) == identity(*edge); });
    if (found) return *found;
    edge_index_.insert(hash, steps_of_.size());
    steps_of_.push_back(step);
    edges_.resize(steps_of_.size());
    return static_cast<EdgeId>(steps_of_.size() - 1);
}

std::uint64_t StepTotals::impossible() const {
    std::uint64_t executions = 0;
    for_each([&](const Step& step) {
        if (!is_possible(registry_.block(step.from), registry_.block(step.to)))
            executions += step.count;
    });
    return executions;
}

std::vector<Edge> StepTotals::edges(const CountScale& scale, const BatchSizes* sizes) const {
    std::vector<Edge> edges;
    edges.reserve(steps_of_.size());
    for (EdgeId id = 0; id < steps_of_.size(); ++id) {
        edges.push_back(*edge_of(steps_of_[id]));
        edges.back().count = scale(edges_.count(id));
        if (sizes) edges.back().error = scale.error(edges_.error(id, *sizes));
    }
    join_and_sort(edges);
    return edges;
}

std::optional<double> StepTotals::largest_error(const BatchSizes& sizes,
                                                std::size_t max_edges) const {
    std::vector<EdgeId> hottest(steps_of_.size());
    std::uint64_t all = 0;
    for (EdgeId id = 0; id < hottest.size(); ++id) {
        hottest[id] = id;
        all += edges_.count(id);
    }
    const auto middle =
        hottest.begin() + static_cast<std::ptrdiff_t>(std::min(max_edges, hottest.size()));
    std::partial_sort(hottest.begin(), middle, hottest.end(),
                      [&](EdgeId a, EdgeId b) { return edges_.count(a) > edges_.count(b); });
    std::optional<double> largest;
    std::uint64_t covered = 0;
    for (auto id = hottest.begin(); id != middle && 2 * covered < all; ++id) {
        const auto error = edges_.error(*id, sizes);
        if (!error) return std::nullopt;
        const auto count = edges_.count(*id);
        covered += count;
        largest = std::max(largest.value_or(0), *error / static_cast<double>(count));
    }
    return largest;
}

}  // namespace shadowprof
