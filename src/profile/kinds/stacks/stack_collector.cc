#include "profile/kinds/stacks/stack_collector.h"

#include <algorithm>
#include <utility>

namespace shadowprof {

void StackCollector::begin_sample() {
    for (Thread& thread : threads_) add_up(thread);
    threads_.clear();
}

void StackCollector::begin_thread(std::uint32_t number, std::span<const CodeLocation> stack) {
    if (number >= threads_.size()) threads_.resize(number + std::size_t{1});
    add_up(threads_[number]);
    threads_[number] = {.context = tree_.initial(stack)};
}

void StackCollector::take_over(std::uint32_t number, const Standing& standing,
                               const StackTree& from) {
    if (number >= threads_.size()) threads_.resize(number + std::size_t{1});
    Thread& of = threads_[number];
    of = {.context = tree_.copy(from, standing.context), .last = standing.last};
    if (of.last != 0) {
        const CanonicalBlock& last = blocks_[of.last];
        of.end = last.end;
        of.terminator = last.terminator;
    }
    follow(of, standing.blocks);
}

void StackCollector::new_emulator() {
    records_.clear();
    steps_.clear();
}

void StackCollector::add_up(Thread& of) {
    const auto instructions = std::exchange(of.instructions, 0);
    if (instructions == 0) return;
    instructions_.resize(tree_.size());
    instructions_.add(of.context, instructions);
}

void StackCollector::go_to(Thread& of, ContextId context) {
    if (context == of.context) return;
    add_up(of);
    of.context = context;
}

ContextStep StackCollector::step(const Thread& from, const CanonicalBlock& to) {
    if (from.last == 0) return {tree_.begin(from.context, to), false};
    return tree_.step(from.context, blocks_[from.last], to);
}

ContextId StackCollector::context_of(std::uint32_t thread, BlockToken next) {
    return step(threads_[thread], blocks_[next]).context;
}

StackCollector::Record StackCollector::known_record(std::span<const BlockToken> blocks) {
    const CanonicalBlock &first = blocks_[blocks.front()], &last = blocks_[blocks.back()];
    Record record{.start = first.start,
                  .end = last.end,
                  .first_step = static_cast<std::uint32_t>(steps_.size()),
                  .last = blocks.back(),
                  .terminator = last.terminator,
                  .is_known = true};
    for (const BlockToken token : blocks) record.instructions += blocks_[token].instructions;
    const auto steps = call_steps(blocks, blocks_);
    if (!steps) return record;
    record.function = first.function->start;
    record.has_steps = true;
    record.steps = static_cast<std::uint32_t>(steps->size());
    for (const CallStep& step : *steps) steps_.push_back({step});
    return record;
}

void StackCollector::take(std::uint32_t number, std::uint32_t id,
                          std::span<const BlockToken> blocks) {
    if (blocks.empty()) return;
    if (id >= records_.size())
        records_.resize(std::max<std::size_t>(id + std::size_t{1}, 2 * records_.size()));
    if (!records_[id].is_known) records_[id] = known_record(blocks);
    if (!take_known(number, id)) follow(threads_[number], blocks);
}

bool StackCollector::take_known(std::uint32_t number, std::uint32_t id) {
    Thread& of = threads_[number];
    if (id >= records_.size() || !records_[id].has_steps || of.last == 0) return false;
    Record& record = records_[id];
    begin(of, record);
    std::uint32_t counted = 0;
    for (Step& each : std::span(steps_).subspan(record.first_step, record.steps)) {
        of.instructions += weight_ * (each.step.offset - counted);
        counted = each.step.offset;
        apply(of, each);
    }
    of.instructions += weight_ * (record.instructions - counted);
    of.last = record.last;
    of.end = record.end;
    of.terminator = record.terminator;
    return true;
}

void StackCollector::follow(Thread& of, std::span<const BlockToken> blocks) {
    for (const BlockToken token : blocks) {
        const CanonicalBlock& block = blocks_[token];
        const auto [context, mismatch] = step(of, block);
        if (mismatch) mismatched_returns_ += weight_;
        go_to(of, context);
        if (of.last == 0) {
            samples_.resize(tree_.size());
            samples_.add(context, weight_);
        }
        of.instructions += weight_ * block.instructions;
        of.last = token;
        of.end = block.end;
        of.terminator = block.terminator;
    }
}

// The step to the first block of a record, whose function is known: as StackTree::step().
void StackCollector::begin(Thread& of, Record& record) {
    if (is_call(of.terminator) && record.start != of.end) {
        if (record.led.from != of.context || record.before != of.last) {
            const StackFrame frame{of.end, record.function};
            record.led = {of.context, tree_.call(of.context, frame)};
            record.before = of.last;
        }
        return go_to(of, record.led.to);
    }
    if (of.terminator == Terminator::ret) return_to(of, record.start);
    go_to(of, tree_.enter(of.context, record.function));
}

void StackCollector::apply(Thread& of, Step& each) {
    const CallStep& step = each.step;
    switch (step.what) {
        case CallStep::What::end_call:
        case CallStep::What::return_to:
            return return_to(of, step.place);
        case CallStep::What::call:
            if (each.led.from != of.context) {
                const StackFrame frame{step.place, step.function};
                each.led = {of.context, tree_.call(of.context, frame)};
            }
            return go_to(of, each.led.to);
        case CallStep::What::enter:
            if (each.led.from != of.context)
                each.led = {of.context, tree_.enter(of.context, step.function)};
            return go_to(of, each.led.to);
    }
}

void StackCollector::return_to(Thread& of, CodeLocation place) {
    const auto [context, mismatch] = tree_.return_to(of.context, place);
    if (mismatch) mismatched_returns_ += weight_;
    go_to(of, context);
}

void StackCollector::fold_into(FlowTotals& totals, double time_ns) {
    for (Thread& thread : threads_) add_up(thread);
    instructions_.resize(tree_.size());
    samples_.resize(tree_.size());
    totals.add_stacks(tree_, places_, {instructions_, samples_, time_ns});
    totals.add_mismatches(std::exchange(mismatched_returns_, 0));
    instructions_.clear();
    samples_.clear();
}

void StackCollector::clear(std::span<ContextId* const> contexts) {
    const StackTree old = std::exchange(tree_, StackTree());
    for (Thread& thread : threads_) thread.context = tree_.copy(old, thread.context);
    for (ContextId* const context : contexts) *context = tree_.copy(old, *context);
    for (Record& record : records_) record.led = {};
    for (Step& step : steps_) step.led = {};
    places_.clear();
    instructions_ = {};
    samples_ = {};
}

}  // namespace shadowprof
