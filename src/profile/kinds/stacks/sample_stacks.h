// What each sample executed, by context, for the timeline of a run.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "profile/kinds/stacks/stack_tree.h"
#include "profile/statistics/count_scale.h"
#include "profile/timeline.h"

namespace shadowprof {

// It is bounded: see timeline_stride(). Of a part of a sample only the largest contexts are kept.
class SampleStacks {
  public:
    struct InContext {
        ContextId context = 0;
        std::uint64_t instructions = 0;
    };
    // A sample, or a part of one.
    struct Part {
        std::uint64_t number = 0;  // of the sample, from 1 on
        std::uint64_t weight = 1;
        double time_ns = 0;
        std::vector<InContext> contexts;
    };

    void add(Part part);
    // Contexts have other numbers: `into` has the new one of each.
    void join(std::span<const ContextId> into);
    // Completes the samples of a timeline, and leaves out those that are not known here any more.
    void fill(Timeline& timeline, const StackTree& tree, const CountScale& scale) const;

  private:
    struct Sample {
        std::uint64_t instructions = 0, weighted = 0;
        double time_ns = 0;
        std::vector<InContext> contexts;
    };

    std::map<std::uint64_t, Sample> samples_;  // by number
    std::uint64_t stride_ = 1;
};

}  // namespace shadowprof
