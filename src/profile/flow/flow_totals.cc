#include "profile/flow/flow_totals.h"

#include <algorithm>

#include "base/text/numbered.h"

namespace shadowprof {

FlowTotals::FlowTotals(const BlockRegistry& registry, const FlowLimits& limits, bool are_samples)
    : registry_(registry),
      limits_(limits),
      are_samples_(are_samples),
      steps_(registry, limits.steps),
      paths_({limits.paths, limits.path_blocks, limits.path_bytes}),
      stacks_({.bytes = limits.stack_bytes, .keeps_callers = limits.keeps_callers}) {}

FlowTotals::BlockTotals& FlowTotals::block(BlockToken token) {
    if (token >= blocks_.size())
        blocks_.resize(std::max<std::size_t>(token + 1, std::size_t{2} * token));
    return blocks_[token];
}

void FlowTotals::add_start(BlockToken token, std::uint64_t count) {
    if (records_) return recorder_.add(recorder_.starts, token, count);
    block(token).starts += count;
}

void FlowTotals::add_end(BlockToken token, std::uint64_t count) {
    if (records_) return recorder_.add(recorder_.ends, token, count);
    block(token).ends += count;
}

void FlowTotals::add_step(StepTotals::StepId step, std::uint64_t count) {
    if (!records_) return steps_.add(step, count);
    if (step == StepTotals::no_step)
        recorder_.steps_left_out += count;
    else
        recorder_.add(recorder_.steps, step, count);
}

void FlowTotals::add_mismatches(std::uint64_t returns) {
    (records_ ? recorder_.mismatched_returns : mismatched_returns_) += returns;
}

void FlowTotals::add_path(std::span<const BlockToken> path, PathStore::Handle& place,
                          std::span<StepTotals::StepId> steps, std::uint64_t count) {
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (records_)
            recorder_.add(recorder_.executions, path[i], count);
        else
            block(path[i]).executions += count;
        if (i == 0) continue;
        if (steps[i] == StepTotals::unknown) steps[i] = steps_.step_id(path[i - 1], path[i]);
        add_step(steps[i], count);
    }
    if (!limits_.keeps_paths) return;
    if (records_)
        recorder_.add(recorder_.paths, paths_.index(path, place), count);
    else
        paths_.add(path, place, count);
}

void FlowTotals::add_stacks(const StackTree& tree, StackTotals::ContextMatches& places,
                            const StackAmounts& amounts) {
    stacks_.match_contexts(tree, places);
    const auto& instructions = amounts.instructions;
    for (const ContextId c : instructions.touched()) {
        const auto& place = places[c];
        if (place.folded) add_folded(place.context, instructions[c]);
        if (records_)
            recorder_.add(recorder_.instructions, place.context, instructions[c]);
        else
            stacks_.add(place.context, instructions[c]);
    }
    for (const ContextId c : amounts.samples.touched()) {
        if (records_)
            recorder_.add(recorder_.samples, places[c].context, amounts.samples[c]);
        else
            stacks_.add_samples(places[c].context, amounts.samples[c]);
    }
    if (records_) return;
    note_stacks(places, amounts);
    keep_limits();
}

void FlowTotals::note_stacks(const StackTotals::ContextMatches& places,
                             const StackAmounts& amounts) {
    if (sample_.number == 0) return;
    SampleStacks::Part part{sample_.number, sample_.weight, amounts.time_ns, {}};
    for (const ContextId c : amounts.instructions.touched())
        part.contexts.push_back({places[c].context, amounts.instructions[c] / sample_.weight});
    stacks_.add_sample(std::move(part));
}

void FlowTotals::note_stacks(const FlowRecord& record, OfSample sample, double time_ns) {
    if (sample.number == 0) return;
    SampleStacks::Part part{sample.number, sample.weight, time_ns, {}};
    record.instructions.for_each([&](auto id, auto count) {
        part.contexts.push_back({id, count});
    });
    stacks_.add_sample(std::move(part));
}

void FlowTotals::add_folded(ContextId context, std::uint64_t instructions) {
    if (records_)
        recorder_.add(recorder_.folded, context, instructions);
    else
        stacks_.add_folded(context, instructions);
}

FlowRecord FlowTotals::end_record(std::uint64_t weight) {
    records_ = false;
    return recorder_.take(weight);
}

void FlowTotals::add(const FlowRecord& record, OfSample sample, double time_ns) {
    const auto weight = sample.weight;
    record.executions.for_each(
        [&](auto id, auto count) { block(id).executions += weight * count; });
    record.starts.for_each([&](auto id, auto count) { block(id).starts += weight * count; });
    record.ends.for_each([&](auto id, auto count) { block(id).ends += weight * count; });
    record.steps.for_each([&](auto id, auto count) { steps_.add(id, weight * count); });
    steps_.add(StepTotals::no_step, weight * record.steps_left_out);
    record.paths.for_each([&](auto id, auto count) { paths_.add(id, weight * count); });
    record.instructions.for_each([&](auto id, auto count) { stacks_.add(id, weight * count); });
    record.samples.for_each([&](auto id, auto count) { stacks_.add_samples(id, weight * count); });
    record.folded.for_each([&](auto id, auto count) { stacks_.add_folded(id, weight * count); });
    mismatched_returns_ += weight * record.mismatched_returns;
    note_stacks(record, sample, time_ns);
}

void FlowTotals::end_batch(const Batch& batch) {
    scale_.instructions += batch.instructions;
    scale_.weighted += batch.weighted;
    if (batch.weighted == 0) return;
    const BatchSize size{static_cast<double>(batch.weighted), batch.time_ns};
    sizes_.add(size);
    steps_.end_batch(size);
    paths_.end_batch(size);
    stacks_.end_batch(size);
}

void FlowTotals::end_stratum() {
    steps_.end_stratum(sizes_);
    paths_.end_stratum(sizes_);
    stacks_.end_stratum();
    sizes_.end_stratum();
}

void FlowTotals::set_numbers(std::uint64_t ticks, std::uint64_t samples) {
    sizes_.set_numbers(ticks, samples);
    stacks_.set_numbers(ticks, samples);
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
    paths_.fill(profile, registry_, scale(), known);
    profile.stacks = stacks_.stacks(scale(), are_samples_ ? std::optional(errors) : std::nullopt);
    profile.function_batches =
        are_samples_ ? stacks_.function_batches(scale(), errors) : FunctionBatches{};
    if (profile.timeline) stacks_.fill(*profile.timeline, scale());
    fill_counters(profile);
}

void FlowTotals::fill_counters(Profile& profile) const {
    auto& counters = profile.sampling.counters;
    counters["blocks"] = registry_.blocks();
    counters["batches"] = sizes_.batches();
    if (limits_.keeps_callers) counters["mismatched_returns"] = scale()(mismatched_returns_);
    counters["impossible_steps"] = scale()(steps_.impossible());
    counters["steps_left_out"] = scale()(steps_.left_out());
    counters["folded_stack_instructions"] = scale()(stacks_.folded_instructions());
    counters["folded_stacks"] = stacks_.folded_contexts();
    if (steps_.left_out() != 0)
        profile.notes.push_back(fmt::format("only {} edges are kept: {} of others left out",
                                            limits_.steps,
                                            numbered(scale()(steps_.left_out()), "execution")));
}

}  // namespace shadowprof
