#include "profile/flow/flow_record.h"

#include <utility>

namespace shadowprof {

PackedCounts FlowRecorder::pack(Sums& sums, std::uint64_t weight) {
    PackedCounts packed;
    for (const auto id : sums.touched()) packed.add(id, sums[id] / weight);
    sums.clear();
    packed.shrink();
    return packed;
}

FlowRecord FlowRecorder::take(std::uint64_t weight) {
    return {.executions = pack(executions, weight),
            .starts = pack(starts, weight),
            .ends = pack(ends, weight),
            .steps = pack(steps, weight),
            .paths = pack(paths, weight),
            .instructions = pack(instructions, weight),
            .samples = pack(samples, weight),
            .folded = pack(folded, weight),
            .mismatched_returns = std::exchange(mismatched_returns, 0) / weight,
            .steps_left_out = std::exchange(steps_left_out, 0) / weight};
}

}  // namespace shadowprof
