// The control flow counted in a part of a sample. It is kept apart from the totals (flow_totals.h)
// so that its weight can be decided when it is added to them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/flow/packed_counts.h"
#include "profile/flow/touched_sums.h"

namespace shadowprof {

// Counts by the totals' numbers of blocks, steps, paths and contexts. Counts are those of one
// sample, not weighted.
struct FlowRecord {
    PackedCounts executions, starts, ends;  // by block
    PackedCounts steps;
    PackedCounts paths;
    PackedCounts instructions, samples, folded;  // by context
    std::uint64_t mismatched_returns = 0;
    std::uint64_t steps_left_out = 0;

    std::size_t bytes() const {
        return sizeof *this + executions.bytes() + starts.bytes() + ends.bytes() + steps.bytes() +
               paths.bytes() + instructions.bytes() + samples.bytes() + folded.bytes();
    }
};

// Sums up counts until they are taken.
class FlowRecorder {
  public:
    using Sums = TouchedSums<std::uint32_t>;

    Sums executions, starts, ends, steps, paths, instructions, samples, folded;
    std::uint64_t mismatched_returns = 0;
    std::uint64_t steps_left_out = 0;

    static void add(Sums& sums, std::uint32_t id, std::uint64_t count) {
        sums.resize(std::size_t{id} + 1);
        sums.add(id, count);
    }
    // Takes all counts, made by a sample whose counts were multiplied by `weight`. All sums become
    // 0.
    FlowRecord take(std::uint64_t weight);

  private:
    static PackedCounts pack(Sums& sums, std::uint64_t weight);
};

}  // namespace shadowprof
