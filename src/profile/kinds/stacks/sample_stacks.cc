#include "profile/kinds/stacks/sample_stacks.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace shadowprof {
namespace {

using InContext = SampleStacks::InContext;

// How many contexts of a part are kept, and how small they may be. More of them would hardly show
// in a flame graph of the few samples of a stretch.
constexpr std::size_t most_contexts = 64;
constexpr std::uint64_t smallest_share = 1000;

void keep_largest(std::vector<InContext>& contexts, std::uint64_t instructions) {
    std::erase_if(contexts, [&](const InContext& each) {
        return each.instructions == 0 || each.instructions < instructions / smallest_share;
    });
    std::ranges::sort(contexts, [](const InContext& a, const InContext& b) {
        return std::pair(b.instructions, a.context) < std::pair(a.instructions, b.context);
    });
    if (contexts.size() > most_contexts) contexts.resize(most_contexts);
}

// Adds up what is in the same context.
void join_contexts(std::vector<InContext>& contexts) {
    std::ranges::sort(contexts, {}, &InContext::context);
    std::vector<InContext> joined;
    for (const InContext& each : contexts) {
        if (!joined.empty() && joined.back().context == each.context)
            joined.back().instructions += each.instructions;
        else
            joined.push_back(each);
    }
    contexts = std::move(joined);
}

// Makes the frames of contexts nodes of a timeline.
class NodesOfContexts {
  public:
    NodesOfContexts(const StackTree& tree, Timeline& timeline) : tree_(tree), timeline_(timeline) {}

    std::uint32_t of(ContextId context) {
        const auto known = by_context_.find(context);
        if (known != by_context_.end()) return known->second;
        std::uint32_t node = 0;
        auto frames = tree_.frames(context);
        if (frames.size() > max_timeline_depth) {
            frames[max_timeline_depth - 1] = frames.back();
            frames.resize(max_timeline_depth);
        }
        for (const CodeLocation frame : frames) node = child(node, frame);
        by_context_.emplace(context, node);
        return node;
    }

  private:
    std::uint32_t child(std::uint32_t parent, CodeLocation frame) {
        const auto next = static_cast<std::uint32_t>(timeline_.frames.size() + 1);
        const auto [it, added] = children_.try_emplace({parent, frame}, next);
        if (added) {
            timeline_.parents.push_back(parent);
            timeline_.frames.push_back(frame);
        }
        return it->second;
    }

    const StackTree& tree_;
    Timeline& timeline_;
    std::map<std::pair<std::uint32_t, CodeLocation>, std::uint32_t> children_;
    std::unordered_map<ContextId, std::uint32_t> by_context_;
};

}  // namespace

void SampleStacks::add(Part part) {
    while (part.number > stride_ * max_timeline_samples) {
        stride_ *= 2;
        std::erase_if(samples_, [&](const auto& each) { return each.first % stride_ != 0; });
    }
    if (part.number % stride_ != 0) return;
    std::uint64_t instructions = 0;
    for (const InContext& each : part.contexts) instructions += each.instructions;
    keep_largest(part.contexts, instructions);
    Sample& sample = samples_[part.number];
    sample.instructions += instructions;
    sample.weighted += instructions * part.weight;
    sample.time_ns += part.time_ns;
    const bool is_first = sample.contexts.empty();
    sample.contexts.insert(sample.contexts.end(), part.contexts.begin(), part.contexts.end());
    if (is_first) return;
    join_contexts(sample.contexts);
    keep_largest(sample.contexts, sample.instructions);
}

void SampleStacks::join(std::span<const ContextId> into) {
    for (auto& [number, sample] : samples_) {
        for (InContext& each : sample.contexts) each.context = into[each.context];
        join_contexts(sample.contexts);
    }
}

void SampleStacks::fill(Timeline& timeline, const StackTree& tree, const CountScale& scale) const {
    NodesOfContexts nodes(tree, timeline);
    timeline.stride = std::max(timeline.stride, stride_);
    std::erase_if(timeline.samples, [&](const TimelineSample& sample) {
        return sample.number % timeline.stride != 0;
    });
    for (TimelineSample& sample : timeline.samples) {
        const auto known = samples_.find(sample.number);
        if (known == samples_.end()) continue;
        const Sample& executed = known->second;
        sample.instructions = executed.instructions;
        sample.counted = scale(executed.weighted);
        sample.time_ns = static_cast<std::uint64_t>(std::llround(executed.time_ns));
        sample.stacks = static_cast<std::uint32_t>(executed.contexts.size());
        for (const InContext& each : executed.contexts)
            timeline.stacks.push_back({nodes.of(each.context), each.instructions});
    }
}

}  // namespace shadowprof
