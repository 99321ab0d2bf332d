#include "profile/kinds/call_costs/call_cost_collector.h"

#include <algorithm>

#include "profile/flow/call_steps.h"
#include "profile/flow/flow.h"
#include "profile/flow/left_frames.h"
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

std::vector<CallCostCollector::OpenCall> CallCostCollector::suspend(std::uint32_t number) {
    Thread& of = thread(number);
    std::vector<OpenCall> calls;
    for (const Frame& frame : of.frames)
        calls.push_back({frame.return_to, frame.function, frame.pair});
    while (!of.frames.empty()) close_last(of);
    return calls;
}

void CallCostCollector::resume(std::uint32_t number, std::span<const OpenCall> calls) {
    Thread& of = thread(number);
    while (!of.frames.empty()) close_last(of);
    for (const OpenCall& call : calls) open(of, call.return_to, call.function, call.pair);
    if (calls.empty() && of.last != 0)
        open(of, StackFrame::no_return, known_[of.last].function, no_pair);
}

std::size_t CallCostCollector::calls_behind(std::uint32_t number, const LeftStack& stack) const {
    if (number >= threads_.size()) return 0;
    const auto& calls = threads_[number].frames;
    LeftFrames frames(stack);
    for (std::size_t i = calls.size(); i > 1 && frames.goes_on(); --i)
        frames.look_at(calls[i - 1].return_to);
    const std::size_t kept = calls.size() - frames.left();
    return kept == 0 ? 0 : kept - 1;
}

std::size_t CallCostCollector::leave(std::uint32_t number, const LeftStack& stack) {
    const auto kept = calls_behind(number, stack);
    Thread& of = thread(number);
    while (of.frames.size() > kept + 1) close_last(of);
    return kept;
}

void CallCostCollector::interrupt(std::uint32_t number, CodeLocation at, CodeLocation handler) {
    Thread& of = thread(number);
    if (of.frames.size() < max_depth) open(of, at, handler, no_pair);
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
        else if (to.knows_function && of.frames.back().function != to.function)
            go_to_function(of, to.function);
        of.instructions += weight * to.instructions;
        of.last = token;
    }
}

void CallCostCollector::take_record(std::uint32_t number, std::uint32_t id,
                                    std::span<const BlockToken> blocks) {
    if (blocks.empty()) return;
    if (id >= records_.size())
        records_.resize(std::max<std::size_t>(id + std::size_t{1}, 2 * records_.size()));
    if (!records_[id].is_known) records_[id] = known_record(blocks);
    const Record& record = records_[id];
    Thread& of = thread(number);
    if (!record.has_steps || of.last == 0) return take(number, blocks, Counting::counts);
    step(of, known_[of.last], known_[record.first], weight_);
    const auto before = of.instructions;
    for (const Step& each : std::span(steps_).subspan(record.first_step, record.steps)) {
        of.instructions = before + weight_ * each.offset;
        apply(of, each);
    }
    of.instructions = before + weight_ * record.instructions;
    of.last = record.last;
}

void CallCostCollector::apply(Thread& of, const Step& step) {
    switch (step.what) {
        case Happens::whole_call:
            pairs_[step.pair].calls += weight_ * step.calls;
            if (step.pair >= of.in_progress.size() || of.in_progress[step.pair] == 0)
                pairs_[step.pair].instructions += weight_ * step.instructions;
            return;
        case Happens::call:
            return call(of, step.pair, weight_ * step.calls);
        case Happens::return_to:
            return return_to(of, step.place);
        case Happens::enter:
            if (of.frames.back().function != step.place) go_to_function(of, step.place);
            return;
    }
}

// Turns the steps of a record into those of pairs.
class CallCostCollector::RecordSteps {
  public:
    explicit RecordSteps(CallCostCollector& collector) : collector_(collector) {}

    void add(const CallStep& step) {
        offset_ = step.offset;
        switch (step.what) {
            case CallStep::What::call:
                return begin(step.place, step.function, 1);
            case CallStep::What::end_call:
                return end_last();
            case CallStep::What::return_to:
                return put({.what = Happens::return_to, .place = step.place});
            case CallStep::What::enter:
                return enter(step.function);
        }
    }
    const std::vector<Step>& steps() const { return steps_; }

  private:
    // A call that began in the record.
    struct Open {
        CodeLocation return_to;
        PairId pair;
        std::size_t step;
    };

    void put(Step step) {
        step.offset = offset_;
        steps_.push_back(step);
    }
    void begin(CodeLocation return_to, CodeLocation function, std::uint32_t calls) {
        const PairId pair = collector_.pair_id(return_to, function);
        open_.push_back({return_to, pair, steps_.size()});
        put({.what = Happens::call, .pair = pair, .calls = calls});
    }
    void end_last() {
        const Open open = open_.back();
        open_.pop_back();
        Step& step = steps_[open.step];
        step.what = Happens::whole_call;
        if (std::ranges::find(open_, open.pair, &Open::pair) == open_.end())
            step.instructions = offset_ - step.offset;
    }
    void enter(CodeLocation function) {
        if (open_.empty()) return put({.what = Happens::enter, .place = function});
        const CodeLocation return_to = open_.back().return_to;
        end_last();
        begin(return_to, function, 0);
    }

    CallCostCollector& collector_;
    std::vector<Step> steps_;
    std::vector<Open> open_;
    std::uint32_t offset_ = 0;
};

CallCostCollector::Record CallCostCollector::known_record(std::span<const BlockToken> blocks) {
    Record record{.is_known = true,
                  .first = blocks.front(),
                  .last = blocks.back(),
                  .first_step = static_cast<std::uint32_t>(steps_.size())};
    for (const BlockToken token : blocks) record.instructions += block(token).instructions;
    const auto happens = call_steps(blocks, blocks_);
    if (!happens) return record;
    RecordSteps steps(*this);
    for (const CallStep& step : *happens) steps.add(step);
    record.has_steps = true;
    record.steps = static_cast<std::uint32_t>(steps.steps().size());
    steps_.insert(steps_.end(), steps.steps().begin(), steps.steps().end());
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
        if (to.start != from.end) {
            if (from.last_pair == no_pair || pairs_[from.last_pair].callee != to.function)
                from.last_pair = pair_id(from.end, to.function);
            return call(of, from.last_pair, weight);
        }
    } else if (from.terminator == Terminator::ret) {
        return_to(of, to.start);
    } else if (leaves_function(of.frames.back(), from, to)) {
        return go_to_function(of, to.start);
    }
    if (to.knows_function && of.frames.back().function != to.function)
        go_to_function(of, to.function);
}

void CallCostCollector::call(Thread& of, PairId pair, std::uint64_t times) {
    if (of.frames.size() >= max_depth) {
        const CodeLocation function = of.frames.back().function;
        while (!of.frames.empty()) close_last(of);
        open(of, StackFrame::no_return, function, no_pair);
    }
    pairs_[pair].calls += times;
    open(of, pairs_[pair].return_to, pairs_[pair].callee, pair);
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
