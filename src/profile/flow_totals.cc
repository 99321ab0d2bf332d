#include "profile/flow_totals.h"

#include <algorithm>

namespace shadowprof {

FlowTotals::FlowTotals(const BlockRegistry& registry, const FlowLimits& limits, bool are_samples)
    : registry_(registry),
      limits_(limits),
      are_samples_(are_samples),
      steps_(registry, limits.steps),
      paths_(limits.paths),
      stacks_(limits.contexts) {}

FlowTotals::BlockTotals& FlowTotals::block(BlockToken token) {
    if (token >= blocks_.size())
        blocks_.resize(std::max<std::size_t>(token + 1, std::size_t{2} * token));
    return blocks_[token];
}

void FlowTotals::add_start(BlockToken token, std::uint64_t count) {
    block(token).starts += count;
}
void FlowTotals::add_end(BlockToken token, std::uint64_t count) {
    block(token).ends += count;
}

void FlowTotals::add_path(std::span<const BlockToken> path, PathStore::Place& place,
                          std::span<StepTotals::StepId> steps, std::uint64_t count) {
    for (std::size_t i = 0; i < path.size(); ++i) {
        block(path[i]).executions += count;
        if (i == 0) continue;
        if (steps[i] == StepTotals::unknown) steps[i] = steps_.step_id(path[i - 1], path[i]);
        steps_.add(steps[i], count);
    }
    paths_.add(path, place, count);
}

void FlowTotals::end_batch(const Batch& batch) {
    scale_.instructions += batch.instructions;
    scale_.weighted += batch.weighted;
    if (batch.weighted == 0) return;
    const auto size = static_cast<double>(batch.weighted);
    sizes_.add(size);
    steps_.end_batch(size);
    paths_.end_batch(size);
    stacks_.end_batch(size, batch.time_ns);
}

Result<void> FlowTotals::check() const {
    if (steps_.left_out() == 0) TRY(check_conservation());
    return check_instructions();
}

Result<void> FlowTotals::check_conservation() const {
    std::vector<std::uint64_t> in(blocks_.size()), out(blocks_.size());
    steps_.for_each([&](const StepTotals::Step& step) {
        out.at(step.from) += step.count;
        in.at(step.to) += step.count;
    });
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

Result<void> FlowTotals::check_instructions() const {
    std::uint64_t by_block = 0;
    for (BlockToken token = 1; token < blocks_.size(); ++token)
        if (blocks_[token].executions != 0)
            by_block += blocks_[token].executions * registry_.block(token).instructions;
    const auto by_stack = stacks_.instructions();
    if (by_block != scale_.weighted || by_stack != scale_.weighted)
        return Error{ErrorCode::invalid, 0,
                     fmt::format("{} instructions by samples, {} by blocks, {} by stacks",
                                 scale_.weighted, by_block, by_stack)};
    return {};
}

std::optional<BatchSizes> FlowTotals::error_sizes(ErrorsOf errors) const {
    if (!are_samples_) return std::nullopt;
    return errors == ErrorsOf::phase ? sizes_.since(sizes_before_) : sizes_;
}

void FlowTotals::begin_phase() {
    sizes_before_ = sizes_;
    steps_.begin_phase();
    paths_.begin_phase();
    stacks_.begin_phase();
}

void FlowTotals::fill(Profile& profile, ErrorsOf errors) const {
    const auto sizes = error_sizes(errors);
    const auto* known = sizes ? &*sizes : nullptr;
    profile.edges = steps_.edges(scale(), known);
    profile.calls = calls_among(profile.edges, steps_.stub_targets());
    profile.paths = paths_.paths(registry_, scale(), known);
    profile.stacks = stacks_.stacks(scale(), are_samples_ ? std::optional(errors) : std::nullopt);
    profile.function_batches =
        are_samples_ ? stacks_.function_batches(scale(), errors) : FunctionBatches{};
    fill_counters(profile);
}

void FlowTotals::fill_counters(Profile& profile) const {
    auto& counters = profile.sampling.counters;
    counters["blocks"] = registry_.blocks();
    counters["batches"] = sizes_.batches();
    counters["mismatched_returns"] = scale()(mismatched_returns_);
    counters["impossible_steps"] = scale()(steps_.impossible());
    counters["paths_given_up"] = scale()(paths_.given_up());
    counters["steps_left_out"] = scale()(steps_.left_out());
    counters["folded_stack_instructions"] = scale()(stacks_.folded_instructions());
    if (paths_.given_up() != 0)
        profile.notes.push_back(
            fmt::format("more than {} paths: the coldest, {} executions, are left out",
                        limits_.paths, scale()(paths_.given_up())));
    if (steps_.left_out() != 0)
        profile.notes.push_back(fmt::format("more than {} edges: {} executions are left out",
                                            limits_.steps, scale()(steps_.left_out())));
}

}  // namespace shadowprof
