#include "profile/flow/burst_follower.h"

#include "profile/flow/flow.h"

namespace shadowprof {
namespace {

Result<void> check_contains(const StepTotals& all, const StepTotals& part) {
    Result<void> result;
    part.for_each([&](const StepTotals::Step& step) {
        const auto executed = all.count(step.from, step.to);
        if (step.count > executed)
            result = Error{ErrorCode::invalid, 0,
                           fmt::format("the step from block {} to {} was counted {} times in "
                                       "bursts, but executed {} times",
                                       step.from, step.to, step.count, executed)};
    });
    return result;
}

Result<void> check_contains(const PathStore& all, const PathStore& part) {
    for (std::size_t i = 0; i < part.size(); ++i)
        if (const auto executed = all.count(part.blocks(i)); part.count(i) > executed)
            return Error{ErrorCode::invalid, 0,
                         fmt::format("a path from block {} was counted {} times in bursts, but "
                                     "executed {} times",
                                     part.blocks(i).front(), part.count(i), executed)};
    return {};
}

void fold_steps(const CountTable& from, StepTotals& to) {
    for (const auto& [key, count] : from.entries())
        to.add(to.step_id(static_cast<BlockToken>(key >> 32), static_cast<BlockToken>(key)), count);
}

}  // namespace

void BurstTotals::end_batch(std::uint64_t weighted) {
    if (weighted == 0) return;
    const BatchSize size{static_cast<double>(weighted), 0};
    edges.end_batch(size);
    calls.end_batch(size);
    paths.end_batch(size);
}

Result<void> BurstTotals::check(const FlowTotals& all) const {
    if (all.steps().left_out() != 0 || all.paths().given_up() != 0) return {};
    TRY(check_contains(all.steps(), edges));
    TRY(check_contains(all.steps(), calls));
    return check_contains(all.paths(), paths);
}

void BurstTotals::begin_phase() {
    edges.begin_phase();
    calls.begin_phase();
    paths.begin_phase();
}

void BurstTotals::fill(Profile& profile, const FlowTotals& all, ErrorsOf errors) const {
    const auto sizes = all.error_sizes(errors);
    const auto* known = sizes ? &*sizes : nullptr;
    profile.edges = edges.edges(all.scale(), known);
    profile.calls = calls_among(calls.edges(all.scale(), known), all.steps().stub_targets());
    paths.fill(profile, registry_, all.scale(), known);
}

bool BurstSink::full() const {
    return edges_.entries().size() >= many || calls_.entries().size() >= many ||
           paths_.size() >= many;
}

void BurstSink::fold_into(BurstTotals& totals) {
    fold_steps(edges_, totals.edges);
    fold_steps(calls_, totals.calls);
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        PathStore::Handle unknown;
        totals.paths.add(paths_.blocks(i), unknown, paths_.count(i));
    }
    totals.counts.add(counts_);
    const auto weight = weight_;
    *this = {};
    weight_ = weight;
}

void BurstFollower::take(Before before, std::span<const BlockToken> blocks, const BlockView& view,
                         BurstSink& sink) {
    for (const BlockToken block : blocks) {
        if (before.last != 0) step(before.last, block, view, sink);
        const bool begins = before.last == 0 || before.path_blocks == max_path_blocks ||
                            view[block].guest_start <= backward_limit(view[before.last]);
        if (begins) begin_path(sink);
        if (in_path_) path_.push_back(block);
        before = {block, begins ? 1 : before.path_blocks + 1};
    }
}

// The event is counted first, so that a burst holds the step with which it begins and not the step
// that ends it.
void BurstFollower::step(BlockToken from, BlockToken to, const BlockView& view, BurstSink& sink) {
    const CanonicalBlock& block = view[from];
    if (is_event(plan_.events, block, view[to])) bursts_.on_event();
    if (bursts_.is_on(BurstKind::edge)) sink.add_edge(from, to);
    if (bursts_.is_on(BurstKind::call) && is_call(block.terminator)) sink.add_call(from, to);
}

// Ends the current path and begins the next.
void BurstFollower::begin_path(BurstSink& sink) {
    if (in_path_) sink.add_path(path_);
    path_.clear();
    in_path_ = bursts_.is_on(BurstKind::path);
}

void BurstFollower::finish(BurstSink& sink) {
    if (in_path_) sink.add_path(path_);
    in_path_ = false;
    sink.add_counts(bursts_.counts());
}

}  // namespace shadowprof
