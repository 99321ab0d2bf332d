#include "profile/kinds/stacks/stack_totals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "profile/code/index_table.h"
#include "profile/kinds/stacks/stack_folder.h"
#include "profile/merge/join.h"

namespace shadowprof {
namespace {

// 64 MiB. Programs have some thousand functions, and there are some hundred batches.
constexpr std::size_t max_parts = 1 << 22;

}  // namespace

StackTotals::StackTotals(const StackLimits& limits) : limits_(limits) {
    note_contexts();
}

void StackTotals::match_contexts(const StackTree& tree, ContextMatches& places) {
    if (std::exchange(places.generation_, generation_) != generation_) places.clear();
    for (auto c = static_cast<ContextId>(places.matches_.size()); c < tree.size(); ++c)
        places.matches_.push_back(find_place(tree, c, places));
    note_contexts();
}

StackTotals::ContextMatch StackTotals::find_place(const StackTree& tree, ContextId context,
                                                  ContextMatches& places) {
    if (context == 0) return {};
    const StackFrame& frame = tree.frame(context);
    if (!limits_.keeps_callers)
        return {.context = tree_.child(0, {StackFrame::no_return, frame.function})};
    const ContextId cut_at = tree.cut_at(context);
    const ContextId shown = cut_at == 0 ? context : cut_at;
    return {.context = tree_.child(as_caller(tree, tree.parent(shown), places),
                                   {tree.frame(shown).return_to, frame.function}),
            .folded = cut_at != 0};
}

ContextId StackTotals::as_caller(const StackTree& tree, ContextId context, ContextMatches& places) {
    if (context == 0) return 0;
    if (const auto known = places[context].as_caller) return *known;
    const auto caller = as_caller(tree, tree.parent(context), places);
    const StackFrame frame{tree.frame(context).return_to, StackFrame::no_return};
    return *(places.matches_[context].as_caller = tree_.child(caller, frame));
}

void StackTotals::note_contexts() {
    samples_.resize(tree_.size());
    folded_.resize(tree_.size());
    instructions_.resize(tree_.size());
    for (auto c = static_cast<ContextId>(function_of_.size()); c < tree_.size(); ++c) {
        const CodeLocation function = tree_.frame(c).function;
        function_of_.push_back(function_id(function));
        if (function != StackFrame::no_return) bytes_ += stack_file_bytes(tree_.calls(c));
    }
}

void StackTotals::keep_limits() {
    if (!is_full() || !limits_.keeps_callers) return;
    fold(limits_.bytes / 2);
    if (is_full()) fold(0);
}

// Contexts without counts are dropped.
void StackTotals::fold(std::uint64_t max_bytes) {
    struct Executing {
        ContextId context;
        StackFolder::StackId stack;
    };
    StackFolder folder;
    std::vector<StackFolder::Caller> callers(tree_.size());
    std::vector<Executing> all;
    for (ContextId c = 1; c < tree_.size(); ++c) {
        const StackFrame& frame = tree_.frame(c);
        callers[c] = callers[tree_.parent(c)];
        if (frame.return_to != StackFrame::no_return)
            callers[c] = folder.called(callers[c], call_site(frame.return_to));
        if (has_counts(c))
            all.push_back({c, folder.add(callers[c], frame.function, instructions_.count(c))});
    }
    folder.fold(max_bytes);
    const StackTree old = std::exchange(tree_, StackTree());
    std::vector<ContextId> into(old.size()), context_of(folder.size()), folded;
    for (const auto [context, stack] : all) {
        ContextId& here = context_of[folder.kept(stack)];
        if (here == 0) here = add_outer_part(old, context, folder.calls_left(stack));
        into[context] = here;
        if (folder.is_folded(stack)) folded.push_back(context);
    }
    join_contexts(into, folded);
}

// Adds a context of another tree with its outermost `calls` calls and its function.
ContextId StackTotals::add_outer_part(const StackTree& from, ContextId context, std::size_t calls) {
    auto returns = from.returns(context, calls);
    returns.insert(returns.begin(), StackFrame::no_return);
    ContextId at = 0;
    for (std::size_t i = 0; i < returns.size(); ++i) {
        const bool executes = i + 1 == returns.size();
        at = tree_.child(
            at, {returns[i], executes ? from.frame(context).function : StackFrame::no_return});
    }
    return at;
}

// `into` has the new number of each old context. The contexts in `folded` lose calls.
void StackTotals::join_contexts(std::span<const ContextId> into,
                                std::span<const ContextId> folded) {
    for (const ContextId c : folded) folded_[c] = instructions_.count(c);
    folded_contexts_ += folded.size();
    const auto joined = [&](const std::vector<std::uint64_t>& counts) {
        std::vector<std::uint64_t> sums(tree_.size());
        for (std::size_t c = 0; c < into.size(); ++c) sums[into[c]] += counts[c];
        return sums;
    };
    samples_ = joined(samples_);
    folded_ = joined(folded_);
    of_samples_.join(into);
    instructions_.join(into, tree_.size());
    function_of_.clear();
    bytes_ = 0;
    ++generation_;
    note_contexts();
}

std::uint32_t StackTotals::function_id(CodeLocation location) {
    const std::uint64_t hash = location_hash(location);
    const auto found =
        function_index_.find(hash, [&](std::uint32_t i) { return functions_[i] == location; });
    if (found) return *found;
    function_index_.insert(hash, functions_.size());
    functions_.push_back(location);
    part_of_.resize(functions_.size());
    return static_cast<std::uint32_t>(functions_.size() - 1);
}

void StackTotals::end_batch(const BatchSize& size) {
    note_parts();
    batches_.push_back(size);
    sizes_.add(size);
    instructions_.end_batch(size);
}

void StackTotals::end_stratum() {
    instructions_.end_stratum(sizes_);
    sizes_.end_stratum();
    stratum_ends_.push_back(static_cast<std::uint32_t>(batches_.size()));
}

void StackTotals::set_numbers(std::uint64_t looks, std::uint64_t samples) {
    sizes_.set_numbers(looks, samples);
    numbers_ = {looks, samples};
}

void StackTotals::begin_phase() {
    sizes_before_ = sizes_;
    batches_before_ = batches_.size();
    instructions_.begin_phase();
}

// Stores the parts of the batch that ends.
void StackTotals::note_parts() {
    const auto touched = instructions_.touched();
    has_all_parts_ = has_all_parts_ && parts_.size() + touched.size() <= max_parts;
    if (!has_all_parts_) return;
    const auto first = parts_.size();
    for (const ContextId context : touched)
        part(function_of_[context], first) += static_cast<double>(instructions_.pending(context));
}

// Returns the function's part in the batch whose parts begin at index `first`.
double& StackTotals::part(std::uint32_t function, std::size_t first) {
    auto& known = part_of_[function];
    const bool is_known =
        known >= first && known < parts_.size() && parts_[known].function == function;
    if (!is_known) {
        known = static_cast<std::uint32_t>(parts_.size());
        parts_.push_back({function, static_cast<std::uint32_t>(batches_.size()), 0});
    }
    return parts_[known].instructions;
}

std::uint64_t StackTotals::instructions() const {
    std::uint64_t sum = 0;
    for (ContextId c = 0; c < instructions_.size(); ++c) sum += instructions_.count(c);
    return sum;
}

std::uint64_t StackTotals::folded_instructions() const {
    return std::accumulate(folded_.begin(), folded_.end(), std::uint64_t{0});
}

std::vector<Stack> StackTotals::stacks(const CountScale& scale,
                                       std::optional<ErrorsOf> errors) const {
    const bool of_phase = errors == ErrorsOf::phase;
    const BatchSizes sizes = of_phase ? sizes_.since(sizes_before_) : sizes_;
    std::vector<Stack> stacks;
    for (ContextId c = 0; c < samples_.size(); ++c) {
        if (!has_counts(c)) continue;
        Stack stack{.frames = tree_.frames(c),
                    .instructions = scale(instructions_.count(c)),
                    .samples = scale(samples_[c]),
                    .folded = scale(folded_[c])};
        if (errors) stack.error = scale.error(instructions_.error(c, sizes));
        stacks.push_back(std::move(stack));
    }
    join_and_sort(stacks);
    return stacks;
}

FunctionBatches StackTotals::function_batches(const CountScale& scale, ErrorsOf errors) const {
    const std::size_t first = errors == ErrorsOf::phase ? batches_before_ : 0;
    FunctionBatches batches;
    if (!has_all_parts_) return batches;
    batches.stratum_ends = stratum_ends_;
    batches.numbers = numbers_;
    for (std::size_t i = first; i < batches_.size(); ++i)
        batches.sizes.push_back({batches_[i].size * scale.factor(), batches_[i].time_ns});
    for (const Part& part : parts_)
        if (part.batch >= first)
            batches.parts.push_back({functions_[part.function],
                                     part.batch - static_cast<std::uint32_t>(first),
                                     part.instructions * scale.factor()});
    return batches;
}

}  // namespace shadowprof
