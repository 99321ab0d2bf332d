#include "shadow/schedule/sample_schedule.h"

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

using std::chrono::duration;

// The assumed lifetime of a replica before one is known.
constexpr double first_lifetime_seconds = 0.003;
constexpr double moment_seconds = 300e-6;
// Denser samples would see the same again.
constexpr double min_interval_seconds = 0.001;
// A process whose samples cost more is tried again after this time.
constexpr double longest_interval_seconds = 10;
// Samples are denser by this factor while costs are far below their limit.
constexpr double eagerness = 5;
// How fast the mean of lifetimes follows. It is slow so that a phase of the program whose samples
// live longer is not sampled less.
constexpr double slow_smoothing = 1.0 / 64;
constexpr double longest_refusal_seconds = 1.0;
constexpr double max_weight = 1e7;

SampleSchedule::Clock::duration to_duration(double seconds) {
    return std::chrono::duration_cast<SampleSchedule::Clock::duration>(duration<double>(seconds));
}

std::size_t max_active_of(double load) {
    return static_cast<std::size_t>(std::ceil(load)) + 1;
}

}  // namespace

SampleSchedule::SampleSchedule(const Pace& pace, std::uint64_t seed)
    : pace_(pace),
      max_active_(max_active_of(pace.load)),
      random_(seed),
      lifetime_seconds_(first_lifetime_seconds) {}

void SampleSchedule::set_load(double load) {
    pace_.load = load;
    max_active_ = max_active_of(load);
}

void SampleSchedule::begin(Clock::time_point start) {
    stands_for_seconds_ = 0;
    const auto first = first_lifetime_seconds / std::max(2 * pace_.load, 1.0);
    plan(start, pace_.period ? pace_.period->count() : first);
}

// Uniform between one half and one and a half, so that no period of the program stays in step.
double SampleSchedule::jitter() {
    return std::uniform_real_distribution(0.5, 1.5)(random_);
}

void SampleSchedule::plan(Clock::time_point now, double mean_seconds) {
    mean_seconds_ = mean_seconds;
    stands_for_seconds_ += mean_seconds;
    next_start_ = now + to_duration(jitter() * mean_seconds);
}

// The load of samples that do not live on would be a share of time in which the target stands
// still, so only their cost counts.
double SampleSchedule::interval_seconds(const Outlook& outlook, bool ahead) const {
    if (pace_.period) return pace_.period->count();
    auto interval = !outlook.follows_load && pace_.cost_share ? 0 : lifetime_seconds_ / pace_.load;
    if (pace_.cost_share) {
        const auto by_cost = outlook.cost_seconds / *pace_.cost_share;
        interval = std::max(interval, ahead ? by_cost / eagerness : by_cost);
    }
    interval *= outlook.stretch;
    return std::clamp(interval, pace_.cost_share ? min_interval_seconds : 0.0,
                      longest_interval_seconds);
}

void SampleSchedule::on_sample(Clock::time_point now, const Outlook& outlook, bool ahead) {
    refusals_ = 0;
    stands_for_seconds_ = 0;
    plan(now, interval_seconds(outlook, ahead));
}

void SampleSchedule::on_miss(Clock::time_point now) {
    plan(now, mean_seconds_);
}

void SampleSchedule::postpone(Clock::time_point now, Clock::time_point until) {
    const duration<double> wait = std::max(until - now, to_duration(moment_seconds));
    stands_for_seconds_ += wait.count();
    next_start_ =
        now + to_duration(wait.count() * std::uniform_real_distribution(1.0, 1.2)(random_));
}

void SampleSchedule::soon(Clock::time_point now) {
    next_start_ = now + to_duration(jitter() * moment_seconds);
}

void SampleSchedule::on_end(Clock::duration lifetime) {
    const auto seconds = duration<double>(lifetime).count();
    lifetime_seconds_ += std::max(1.0 / ++ends_, slow_smoothing) * (seconds - lifetime_seconds_);
}

void SampleSchedule::on_refusal(Clock::time_point now) {
    refusals_ = std::min(refusals_ + 1, 16u);
    const auto wait = std::min(longest_refusal_seconds, lifetime_seconds_ / pace_.load *
                                                            static_cast<double>(1u << refusals_));
    next_start_ = now + to_duration(jitter() * wait);
}

std::uint32_t SampleSchedule::weight() const {
    const auto units = std::round(stands_for_seconds_ / weight_unit.count());
    return static_cast<std::uint32_t>(std::clamp(units, 1.0, max_weight));
}

}  // namespace shadowprof
