// How much time a process may lose to stops that nobody has asked for: at its signals, and where
// threads and processes are born or programs executed. The kernel stops what is traced there, and
// tells the tracer.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace shadowprof {

class StopAllowance {
  public:
    using Clock = std::chrono::steady_clock;

    // May be lost before anything is earned, or what is earned in the first second if that is more.
    // A program that starts a hundred threads needs it once.
    static constexpr double first_seconds = 0.025;
    // The most that is saved up, or what is earned in two seconds if that is more.
    static constexpr double max_seconds = 0.050;
    // With less, a process that was let go would be let go again before it was sampled.
    static constexpr double seconds_to_follow = 0.002;
    // With less, it would be let go again before it has started some processes.
    static constexpr double seconds_for_births = 0.005;

    // Earns for the time since the last call: `share` of it.
    void pass(Clock::time_point now, double share) {
        const auto before = std::exchange(last_, now);
        if (before == Clock::time_point{}) left_seconds_ += std::max(share - first_seconds, 0.0);
        if (before == Clock::time_point{} || now <= before) return;
        left_seconds_ += share * std::chrono::duration<double>(now - before).count();
        left_seconds_ = std::min(left_seconds_, std::max(2 * share, max_seconds));
    }
    void spend(double seconds) { left_seconds_ -= seconds; }

    // Whether the process is to be let go.
    bool is_used_up() const { return left_seconds_ < 0; }
    bool has_room_for_births() const { return left_seconds_ >= seconds_for_births; }
    // When a process that was let go may be followed again, at this share. That is at most the time
    // of the last pass() if it may be now.
    Clock::time_point may_follow_from(double share) const {
        const std::chrono::duration<double> wait((seconds_to_follow - left_seconds_) / share);
        return last_ + std::chrono::duration_cast<Clock::duration>(std::clamp(wait, -day, day));
    }

  private:
    static constexpr std::chrono::duration<double> day{86'400};

    Clock::time_point last_;
    double left_seconds_ = first_seconds;
};

}  // namespace shadowprof
