#include "shadow/budget/budget.h"

#include <algorithm>
#include <utility>

namespace shadowprof {
namespace {

constexpr double longest_wait_seconds = 1e6;
constexpr std::chrono::seconds first_stretch{1};
constexpr double first_factor = 5;
constexpr double max_first_share = 0.05;
// The share of the earnings that pays back what is owed.
constexpr double share_for_debts = 0.5;
constexpr double max_standing_share = 0.5;
// Weights of the last observation in the expected cost of the next one. If too little is expected,
// a sample is asked for twice.
constexpr double dearer_looks = 0.5, cheaper_looks = 0.25;

double seconds_between(Budget::Clock::time_point from, Budget::Clock::time_point to) {
    return std::max(std::chrono::duration<double>(to - from).count(), 0.0);
}

}  // namespace

void Budget::allow_more_at_first() {
    const double share = std::min(first_factor * share_, max_first_share);
    first_ = {.end = last_ + first_stretch, .share = std::max(share - share_, 0.0)};
}

void Budget::pass(Clock::time_point now, double spent_seconds, double processes) {
    const auto before = std::exchange(last_, now);
    const double usual = share_ * seconds_between(before, now) * std::max(processes, 1.0);
    const double more = first_.share * seconds_between(before, std::min(now, first_.end));
    const double repaid =
        now > first_.end ? std::min(first_.owed_seconds, share_for_debts * usual) : 0;
    first_.owed_seconds += more - repaid;
    earned_seconds_ += usual + more - repaid;
    earned_seconds_ = std::min(earned_seconds_, spent_seconds + max_saved_seconds);
}

// The seconds earned per second if one process runs, after the first stretch.
double Budget::later_rate() const {
    return first_.owed_seconds > 0 || last_ < first_.end ? (1 - share_for_debts) * share_ : share_;
}

Budget::Clock::time_point Budget::when_within(double cost_seconds) const {
    if (cost_seconds <= advance_seconds) return last_;
    const auto after = [](Clock::time_point time, double seconds) {
        return time + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                          std::clamp(seconds, -1.0, longest_wait_seconds)));
    };
    const auto missing_seconds = cost_seconds - earned_seconds_;
    const auto first_rate = share_ + first_.share;
    const auto earned_at_first = first_rate * seconds_between(last_, first_.end);
    if (missing_seconds <= earned_at_first) return after(last_, missing_seconds / first_rate);
    return after(std::max(last_, first_.end), (missing_seconds - earned_at_first) / later_rate());
}

double Budget::write_off(double standing_seconds, double passed_seconds) {
    const auto beyond = standing_seconds - max_standing_share * later_rate() * passed_seconds;
    if (beyond <= 0) return 0;
    earned_seconds_ += beyond;
    return beyond;
}

void Budget::on_observation(double seconds) {
    const auto part = seconds > observation_seconds_ ? dearer_looks : cheaper_looks;
    observation_seconds_ += part * (seconds - observation_seconds_);
}

std::optional<Budget::Clock::time_point> Budget::too_dear_until(double spent_seconds,
                                                                double cost_seconds,
                                                                Clock::time_point now) const {
    const auto cost = spent_seconds + cost_seconds;
    if (when_within(cost) <= now) return std::nullopt;
    return when_within(cost + observation_seconds_);
}

}  // namespace shadowprof
