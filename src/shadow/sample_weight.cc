#include "shadow/sample_weight.h"

#include <algorithm>
#include <cmath>

#include "shadow/sample_schedule.h"

namespace shadowprof {
namespace {

// Of one execution: so that rounding is little beside samples that stand for little.
constexpr double unit = 1.0 / 32;
// Beyond it, sums of weighted counts could overflow.
constexpr double most_sample_weight = 100'000'000;
// A sample of few instructions says little of what it stands for.
constexpr std::uint64_t fewest_counted = 1000;

}  // namespace

std::uint32_t sample_weight(double stands_for_seconds, std::optional<double> window_seconds,
                            std::uint64_t instructions, double speed) {
    const auto counted = static_cast<double>(std::max(instructions, fewest_counted));
    const double executions = window_seconds ? stands_for_seconds / *window_seconds
                                             : stands_for_seconds * speed / counted;
    return static_cast<std::uint32_t>(
        std::clamp(std::round(executions / unit), 1.0, most_sample_weight));
}

std::uint32_t sample_weight(double stands_for_seconds) {
    const auto units = stands_for_seconds / SampleSchedule::weight_unit.count();
    return static_cast<std::uint32_t>(std::clamp(std::round(units), 1.0, most_sample_weight));
}

}  // namespace shadowprof
