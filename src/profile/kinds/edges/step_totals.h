// Counts how often each block followed another, and derives edges from these steps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "profile/code/block_registry.h"
#include "profile/code/index_table.h"
#include "profile/profile.h"
#include "profile/statistics/batch_means.h"
#include "profile/statistics/count_scale.h"

namespace shadowprof {

// Maps the start of each linkage-table entry to the function that it leads to.
using StubTargets = std::map<CodeLocation, CodeLocation>;

// Returns the call edges, hottest first, one for each site and callee. A call through a stub counts
// for the function behind it.
std::vector<CallPair> calls_among(std::span<const Edge> edges, const StubTargets& stubs);

class StepTotals {
  public:
    // Keeps at most `max_steps` distinct pairs of blocks. `registry` must outlive it.
    StepTotals(const BlockRegistry& registry, std::size_t max_steps)
        : registry_(registry), max_steps_(max_steps) {}

    using StepId = std::uint32_t;
    static constexpr StepId no_step = ~StepId{0};  // there is no room for the step
    static constexpr StepId unknown = no_step - 1;

    // Returns the number of a step, which never changes, or `no_step`.
    StepId step_id(BlockToken from, BlockToken to);
    void add(StepId step, std::uint64_t count) {
        if (step == no_step) {
            left_out_ += count;
            return;
        }
        steps_.add(step, count);
        if (edge_ids_[step] != no_edge) edges_.add(edge_ids_[step], count);
    }
    void end_batch(const BatchSize& size) { edges_.end_batch(size); }
    void end_stratum(const BatchSizes& sizes) { edges_.end_stratum(sizes); }
    void begin_phase() { edges_.begin_phase(); }

    struct Step {
        BlockToken from = 0, to = 0;
        std::uint64_t count = 0;
    };
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [key, count] : steps_.entries())
            visit(Step{static_cast<BlockToken>(key >> 32), static_cast<BlockToken>(key), count});
    }
    bool empty() const { return steps_.entries().empty(); }
    // 0 if there is no such step.
    std::uint64_t count(BlockToken from, BlockToken to) const;
    // Executions of steps for which there was no room.
    std::uint64_t left_out() const { return left_out_; }
    // Executions of steps that the instructions do not allow.
    std::uint64_t impossible() const;

    // The function that each stub jumped to most often. Stubs without steps have none.
    StubTargets stub_targets() const;

    // Scaled, hottest first; with errors unless `sizes` is null.
    std::vector<Edge> edges(const CountScale& scale, const BatchSizes* sizes) const;
    // The largest relative error among the hottest edges that together make up half of all counts,
    // at most `max_edges`. Nothing where errors are not known.
    std::optional<double> largest_error(const BatchSizes& sizes, std::size_t max_edges) const;

  private:
    using EdgeId = BatchedCounts::Entry;
    static constexpr EdgeId no_edge = ~EdgeId{0};

    StepId find_or_add(BlockToken from, BlockToken to);
    EdgeId edge_id(StepId step);
    std::optional<Edge> edge_of(StepId step) const;

    const BlockRegistry& registry_;
    std::size_t max_steps_;
    CountTable steps_;  // by from and to
    // By `from`: the two steps last found, as most blocks lead to one or two others.
    struct Found {
        BlockToken to = 0;  // 0: none
        StepId step = no_step;
    };
    std::vector<std::array<Found, 2>> recent_;
    std::vector<EdgeId> edge_ids_;  // by step; no_edge where no branch was executed
    std::vector<StepId> steps_of_;  // by edge: one of its steps
    IndexTable edge_index_;
    BatchedCounts edges_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
