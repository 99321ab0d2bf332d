#include "shadow/schedule/sample_weight.h"

#include <algorithm>
#include <cmath>

#include "shadow/schedule/sample_schedule.h"

namespace shadowprof {
namespace {

// Weight units per execution are many, so that rounding hardly matters for samples that stand for
// little.
constexpr double unit = 1.0 / 32;
// With larger weights, sums of weighted counts could overflow.
constexpr double max_sample_weight = 100'000'000;
// A sample is taken to have needed no less; what is shorter has hardly an instruction.
constexpr double shortest_seconds = 1e-9;

}  // namespace

std::uint32_t sample_weight(double stands_for_seconds, double sample_seconds) {
    const auto executions = stands_for_seconds / std::max(sample_seconds, shortest_seconds);
    return static_cast<std::uint32_t>(
        std::clamp(std::round(executions / unit), 1.0, max_sample_weight));
}

std::uint32_t sample_weight(double stands_for_seconds) {
    const auto units = stands_for_seconds / SampleSchedule::weight_unit.count();
    return static_cast<std::uint32_t>(std::clamp(std::round(units), 1.0, max_sample_weight));
}

}  // namespace shadowprof
