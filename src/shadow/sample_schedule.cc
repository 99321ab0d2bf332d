#include "shadow/sample_schedule.h"

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

// What a sample's lifetime is taken to be before one is known.
constexpr double first_lifetime_seconds = 0.003;
constexpr double moment_seconds = 300e-6;
// So many samples are taken at twice the load: a program that soon ends is to have enough.
constexpr unsigned eager_samples = 24;
constexpr double eagerness = 2;
constexpr double cost_share = 0.01;
constexpr double smoothing = 0.3;
constexpr double longest_refusal_seconds = 1.0;

std::chrono::steady_clock::duration to_duration(double seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
}

}  // namespace

SampleSchedule::SampleSchedule(double load, bool bounds_cost, std::uint64_t seed)
    : load_(load),
      max_active_(static_cast<std::size_t>(std::ceil(load)) + 1),
      random_(seed),
      bounds_cost_(bounds_cost),
      lifetime_seconds_(first_lifetime_seconds) {}

void SampleSchedule::begin(Clock::time_point start) {
    next_start_ = start + to_duration(jitter() * first_lifetime_seconds / load_ / 2);
}

// Uniform between one half and one and a half: no period of the program stays in step with it.
double SampleSchedule::jitter() {
    return std::uniform_real_distribution(0.5, 1.5)(random_);
}

void SampleSchedule::on_start(Clock::time_point now) {
    refusals_ = 0;
    const bool eager = ++starts_ < eager_samples;
    auto interval = lifetime_seconds_ / (eager ? load_ * eagerness : load_);
    if (bounds_cost_ && !eager) interval = std::max(interval, cost_seconds_ / cost_share);
    next_start_ = now + to_duration(jitter() * interval);
}

void SampleSchedule::on_cost(Clock::duration cost) {
    const auto seconds = std::chrono::duration<double>(cost).count();
    cost_seconds_ += (cost_seconds_ == 0 ? 1 : smoothing) * (seconds - cost_seconds_);
}

void SampleSchedule::soon(Clock::time_point now) {
    next_start_ = now + to_duration(jitter() * moment_seconds);
}

void SampleSchedule::on_end(Clock::duration lifetime) {
    const auto seconds = std::chrono::duration<double>(lifetime).count();
    lifetime_seconds_ += smoothing * (seconds - lifetime_seconds_);
}

void SampleSchedule::on_refusal(Clock::time_point now) {
    refusals_ = std::min(refusals_ + 1, 16u);
    const auto wait = std::min(longest_refusal_seconds,
                               lifetime_seconds_ / load_ * static_cast<double>(1u << refusals_));
    next_start_ = now + to_duration(jitter() * wait);
}

}  // namespace shadowprof
