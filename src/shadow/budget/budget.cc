#include "shadow/budget/budget.h"

#include <algorithm>
#include <utility>

namespace shadowprof {
namespace {

constexpr double longest_wait_seconds = 1e6;

}  // namespace

void Budget::pass(Clock::time_point now, double spent_seconds, double processes) {
    const std::chrono::duration<double> passed = now - std::exchange(last_, now);
    earned_seconds_ += share_ * passed.count() * std::max(processes, 1.0);
    earned_seconds_ = std::min(earned_seconds_, spent_seconds + most_saved_seconds);
}

Budget::Clock::time_point Budget::when_within(double cost_seconds) const {
    if (cost_seconds <= advance_seconds) return last_;
    const auto missing_seconds =
        std::clamp((cost_seconds - earned_seconds_) / share_, -1.0, longest_wait_seconds);
    return last_ + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(missing_seconds));
}

}  // namespace shadowprof
