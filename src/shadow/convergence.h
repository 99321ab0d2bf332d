// When a profile says enough: the errors of its hottest edges are under a limit.
#pragma once

#include <chrono>
#include <cstdint>

#include "profile/process_profile.h"

namespace shadowprof {

class ConvergenceWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // The limit is of errors relative to their counts.
    ConvergenceWatch(const ProcessProfile& profile, double limit_percent)
        : profile_(profile), limit_percent_(limit_percent) {}

    void begin(Clock::time_point now) { begin_ = now; }
    // Looks, unless it did so a short while ago: it is to take a hundredth of the time at most.
    // `samples` have been taken.
    void observe(std::uint64_t samples, Clock::time_point now);
    // Stays so.
    bool is_converged() const { return reached_.reached; }

    Convergence result() const;

  private:
    const ProcessProfile& profile_;
    const double limit_percent_;
    Convergence reached_;
    Clock::time_point begin_, next_look_;
};

}  // namespace shadowprof
