#include "profile/stack_totals.h"

#include <algorithm>

#include "profile/join.h"
#include "profile/location_hash.h"

namespace shadowprof {
namespace {

// 64 MiB. Programs have some thousand functions, and there are some hundred batches.
constexpr std::size_t max_parts = 1 << 22;

}  // namespace

StackTotals::StackTotals(std::size_t max_contexts) : max_contexts_(max_contexts) {
    note_contexts();
}

void StackTotals::add(const StackTree& tree, Places& places,
                      std::span<const std::uint64_t> instructions,
                      std::span<const std::uint64_t> samples) {
    for (auto c = static_cast<ContextId>(places.size()); c < tree.size(); ++c)
        places.push_back(find_place(tree, c, places));
    note_contexts();
    for (ContextId c = 0; c < tree.size(); ++c) {
        const Place& place = places[c];
        instructions_.add(place.context, instructions[c]);
        samples_[place.context] += samples[c];
        if (place.folded) folded_instructions_ += instructions[c];
    }
}

StackTotals::Place StackTotals::find_place(const StackTree& tree, ContextId context,
                                           Places& places) {
    if (context == 0) return {};
    const Place parent = places[tree.parent(context)];
    const Place folded{.context = parent.context, .folded = true};
    if (parent.folded || tree.visible(context) != context) return folded;
    const auto caller = as_caller(tree, tree.parent(context), places);
    if (!caller) return folded;
    const auto child = tree_.child_within(max_contexts_, *caller, tree.frame(context));
    return child ? Place{.context = *child} : folded;
}

std::optional<ContextId> StackTotals::as_caller(const StackTree& tree, ContextId context,
                                                Places& places) {
    if (context == 0) return 0;
    auto& known = places[context].as_caller;
    if (known) return known;
    const auto caller = as_caller(tree, tree.parent(context), places);
    if (!caller) return std::nullopt;
    const StackFrame frame{tree.frame(context).return_to, StackFrame::no_return};
    return known = tree_.child_within(max_contexts_, *caller, frame);
}

void StackTotals::note_contexts() {
    samples_.resize(tree_.size());
    instructions_.resize(tree_.size());
    for (auto c = static_cast<ContextId>(function_of_.size()); c < tree_.size(); ++c)
        function_of_.push_back(function_id(tree_.frame(c).function));
}

std::uint32_t StackTotals::function_id(CodeLocation location) {
    const std::uint64_t hash = location_hash(location);
    const auto found =
        function_index_.find(hash, [&](std::uint32_t i) { return functions_[i] == location; });
    if (found) return *found;
    function_index_.insert(hash, functions_.size());
    functions_.push_back(location);
    by_function_.resize(functions_.size());
    return static_cast<std::uint32_t>(functions_.size() - 1);
}

void StackTotals::end_batch(double size) {
    for (const ContextId context : instructions_.touched())
        by_function_.add(function_of_[context], instructions_.pending(context));
    instructions_.end_batch(size);
    const auto batch = static_cast<std::uint32_t>(batch_sizes_.size());
    batch_sizes_.push_back(size);
    has_all_parts_ = has_all_parts_ && parts_.size() + by_function_.touched().size() <= max_parts;
    if (has_all_parts_)
        for (const auto function : by_function_.touched())
            parts_.push_back(
                {function, batch, static_cast<double>(by_function_.pending(function))});
    by_function_.end_batch(size);
}

std::uint64_t StackTotals::instructions() const {
    std::uint64_t sum = 0;
    for (ContextId c = 0; c < instructions_.size(); ++c) sum += instructions_.count(c);
    return sum;
}

std::vector<Stack> StackTotals::stacks(const CountScale& scale, const BatchSizes* sizes) const {
    std::vector<Stack> stacks;
    for (ContextId c = 0; c < samples_.size(); ++c) {
        if (instructions_.count(c) == 0 && samples_[c] == 0) continue;
        Stack stack{.frames = tree_.frames(c),
                    .instructions = scale(instructions_.count(c)),
                    .samples = scale(samples_[c])};
        if (sizes) stack.error = scale.error(instructions_.error(c, *sizes));
        stacks.push_back(std::move(stack));
    }
    join_and_sort(stacks);
    return stacks;
}

FunctionBatches StackTotals::function_batches(const CountScale& scale) const {
    FunctionBatches batches;
    if (!has_all_parts_) return batches;
    for (const double size : batch_sizes_) batches.sizes.push_back(size * scale.factor());
    batches.parts.reserve(parts_.size());
    for (const Part& part : parts_)
        batches.parts.push_back(
            {functions_[part.function], part.batch, part.instructions * scale.factor()});
    return batches;
}

}  // namespace shadowprof
