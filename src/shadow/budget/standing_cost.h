// The costs of following a process that do not depend on its samples.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace shadowprof {

// Threads stop when they are born, the kernel's clock takes time, and so does each check whether a
// sample is due.
class StandingCost {
  public:
    using Clock = std::chrono::steady_clock;

    struct Part {
        double seconds = 0;
        double passed_seconds = 0;  // time in which it was paid
    };

    // `seconds`: what the process has paid since the last call; `sampled`: whether a sample was
    // begun since; `is_sampling`: whether one goes on. Returns the part that the process would have
    // paid without samples: all of it, or what is usual in this time. Returns nothing before the
    // second stretch without samples. The first stretch is then taken to be like the second, as it
    // may have costs of beginning.
    Part observe(Clock::time_point now, double seconds, bool sampled, bool is_sampling = false);

  private:
    static constexpr std::size_t remembered_stretches = 3;

    bool is_known() const { return stretches_ >= 2; }
    double usual_rate() const;

    std::optional<Clock::time_point> last_;
    bool was_sampling_ = false;
    std::array<double, remembered_stretches> rates_ = {};  // seconds per second
    std::size_t stretches_ = 0;
    Part first_;  // paid in the first stretch without samples
};

}  // namespace shadowprof
