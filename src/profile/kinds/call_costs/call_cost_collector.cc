#include "profile/kinds/call_costs/call_cost_collector.h"

#include <algorithm>

#include "profile/flow/flow.h"
#include "profile/kinds/stacks/stack_tree.h"
#include "profile/merge/join.h"

namespace shadowprof {

void CallCostCollector::begin_sample() {
    for (Thread& each : threads_)
        while (!each.frames.empty()) close_last(each);
    threads_.clear();
}

CallCostCollector::Thread& CallCostCollector::thread(std::uint32_t number) {
    if (number >= threads_.size()) threads_.resize(number + std::size_t{1});
    return threads_[number];
}

// Calls that began before are not counted again.
void CallCostCollector::begin_thread(std::uint32_t number, std::span<const CodeLocation> stack) {
    Thread& of = thread(number);
    while (!of.frames.empty()) close_last(of);
    of.last = 0;
    for (std::size_t i = stack.size(); i-- > 0;) {
        const CodeLocation function = i == 0 ? stack[0] : call_site(stack[i]);
        if (i + 1 == stack.size())
            open(of, StackFrame::no_return, function, no_pair);
        else
            open(of, stack[i + 1], function, pair_id(stack[i + 1], function));
    }
}

CallCostCollector::Block& CallCostCollector::block(BlockToken token) {
    if (token >= known_.size())
        known_.resize(std::max<std::size_t>(token + std::size_t{1}, 2 * known_.size()));
    Block& known = known_[token];
    if (known.instructions != 0) return known;
    const CanonicalBlock& block = blocks_[token];
    known = {.start = block.start,
             .end = block.end,
             .function = block.function ? block.function->start : block.start,
             .instructions = block.instructions,
             .terminator = block.terminator,
             .knows_function = block.function.has_value()};
    return known;
}

void CallCostCollector::take(std::uint32_t number, std::span<const BlockToken> blocks,
                             Counting counting) {
    Thread& of = thread(number);
    const std::uint64_t weight = counting == Counting::counts ? weight_ : 0;
    for (const BlockToken token : blocks) {
        const Block to = block(token);
        if (of.last != 0)
            step(of, known_[of.last], to, weight);
        else if (of.frames.empty())
            open(of, StackFrame::no_return, to.function, no_pair);
        of.instructions += weight * to.instructions;
        of.last = token;
    }
}

void CallCostCollector::take_record(std::uint32_t number, std::uint32_t id,
                                    std::span<const BlockToken> blocks) {
    if (id >= records_.size())
        records_.resize(std::max<std::size_t>(id + std::size_t{1}, 2 * records_.size()));
    if (!records_[id].is_known) records_[id] = summary(blocks);
    const Record& record = records_[id];
    Thread& of = thread(number);
    if (!record.is_plain || of.last == 0) return take(number, blocks, Counting::counts);
    step(of, known_[of.last], known_[record.first], weight_);
    of.instructions += weight_ * record.instructions;
    of.last = record.last;
}

CallCostCollector::Record CallCostCollector::summary(std::span<const BlockToken> blocks) {
    Record record{.is_known = true,
                  .is_plain = true,
                  .first = blocks.front(),
                  .last = blocks.back(),
                  .instructions = 0};
    for (const BlockToken token : blocks) {
        const Block& each = block(token);
        record.instructions += each.instructions;
        record.is_plain &= each.knows_function && each.function == block(record.first).function;
        if (token == blocks.back() && &token == &blocks.back()) break;
        record.is_plain &= !is_call(each.terminator) && each.terminator != Terminator::ret;
    }
    return record;
}

// As in StackTree: whether a jump to code without a known function leaves the current one.
bool CallCostCollector::leaves_function(const Frame& frame, const Block& from, const Block& to) {
    if (to.knows_function || !is_jump(from.terminator)) return false;
    const bool is_stub =
        from.terminator == Terminator::indirect_jump && from.start == frame.function;
    return from.knows_function || is_stub || from.start.module != to.start.module;
}

void CallCostCollector::step(Thread& of, Block& from, const Block& to, std::uint64_t weight) {
    // A call to the next instruction only reads the program counter.
    if (is_call(from.terminator)) {
        if (to.start != from.end) return call(of, from, to, weight);
    } else if (from.terminator == Terminator::ret) {
        return_to(of, to.start);
    } else if (leaves_function(of.frames.back(), from, to)) {
        return go_to_function(of, to.start);
    }
    if (to.knows_function && of.frames.back().function != to.function)
        go_to_function(of, to.function);
}

void CallCostCollector::call(Thread& of, Block& from, const Block& to, std::uint64_t weight) {
    if (from.last_pair == no_pair || pairs_[from.last_pair].callee != to.function)
        from.last_pair = pair_id(from.end, to.function);
    if (of.frames.size() >= max_depth) {
        while (!of.frames.empty()) close_last(of);
        open(of, StackFrame::no_return, from.function, no_pair);
    }
    pairs_[from.last_pair].calls += weight;
    open(of, from.end, to.function, from.last_pair);
}

// A return from the outermost frame leads to a caller that becomes the outermost one.
void CallCostCollector::return_to(Thread& of, CodeLocation to) {
    const auto most = std::min(of.frames.size(), max_search);
    const auto found =
        std::find_if(of.frames.rbegin(), of.frames.rbegin() + static_cast<std::ptrdiff_t>(most),
                     [&](const Frame& frame) { return frame.return_to == to; });
    auto distance = static_cast<std::size_t>(found - of.frames.rbegin());
    if (distance == most) {
        if (of.frames.size() == 1) go_to_function(of, to);
        return;
    }
    for (++distance; distance != 0; --distance) close_last(of);
    if (of.frames.empty()) open(of, StackFrame::no_return, to, no_pair);
}

void CallCostCollector::go_to_function(Thread& of, CodeLocation function) {
    const Frame frame = of.frames.back();
    close_last(of);
    open(of, frame.return_to, function,
         frame.pair == no_pair ? no_pair : pair_id(frame.return_to, function));
}

void CallCostCollector::open(Thread& of, CodeLocation return_to, CodeLocation function,
                             PairId pair) {
    bool is_outermost = false;
    if (pair != no_pair) {
        if (pair >= of.in_progress.size()) of.in_progress.resize(pairs_.size());
        is_outermost = of.in_progress[pair]++ == 0;
    }
    of.frames.push_back({.return_to = return_to,
                         .function = function,
                         .pair = pair,
                         .is_outermost = is_outermost,
                         .began = of.instructions});
}

void CallCostCollector::close_last(Thread& of) {
    const Frame& frame = of.frames.back();
    if (frame.pair != no_pair) --of.in_progress[frame.pair];
    if (frame.is_outermost) pairs_[frame.pair].instructions += of.instructions - frame.began;
    of.frames.pop_back();
}

CallCostCollector::PairId CallCostCollector::pair_id(CodeLocation return_to, CodeLocation callee) {
    const std::uint64_t hash = mix64(location_hash(return_to) ^ (location_hash(callee) << 1));
    const auto found = pair_index_.find(hash, [&](std::uint32_t i) {
        return pairs_[i].return_to == return_to && pairs_[i].callee == callee;
    });
    if (found) return *found;
    pair_index_.insert(hash, pairs_.size());
    pairs_.push_back({.return_to = return_to, .callee = callee});
    return static_cast<PairId>(pairs_.size() - 1);
}

void CallCostTotals::add(const CallCostCollector& collector) {
    std::vector<std::uint64_t> in_progress(collector.pairs_.size());
    for (const auto& thread : collector.threads_)
        for (const auto& frame : thread.frames)
            if (frame.is_outermost) in_progress[frame.pair] += thread.instructions - frame.began;
    for (std::size_t i = 0; i < collector.pairs_.size(); ++i) {
        const auto& pair = collector.pairs_[i];
        const CodeLocation site = call_site(pair.return_to);
        const CallCost cost{.site = site,
                            .callee = pair.callee,
                            .calls = pair.calls,
                            .instructions = pair.instructions + in_progress[i]};
        const auto [sum, added] = costs_.try_emplace({site, pair.callee}, cost);
        if (!added) shadowprof::add(sum->second, cost);
    }
}

void CallCostTotals::fill(Profile& profile, const CountScale& scale) const {
    profile.call_costs.clear();
    for (const auto& [place, cost] : costs_) {
        if (is_empty(cost)) continue;
        profile.call_costs.push_back(cost);
        profile.call_costs.back().calls = scale(cost.calls);
        profile.call_costs.back().instructions = scale(cost.instructions);
    }
    join_and_sort(profile.call_costs);
}

}  // namespace shadowprof
