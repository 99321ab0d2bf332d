// When a profile says enough: the errors of its hottest edges are under a limit. From then on
// samples are sparse, and tell whether it stays so.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "profile/collect/process_profile.h"
#include "shadow/results/phase_detector.h"

namespace shadowprof {

class ConvergenceWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // By so much samples are farther apart while the profile says enough.
    static constexpr double sparse_stretch = 8;
    // It says too little again where errors have become so many times the limit. Sparse samples
    // stand for more of the run, which makes errors larger by itself. With N samples of the weight
    // 1 and k of the weight w, errors are as of (N + w k)^2 / (N + w^2 k) samples; the least of
    // these is 4 (w - 1) N / w^2, so that w = 8 makes errors 1.51 times as large at most.
    static constexpr double most_growth = 2;
    // Samples that must have shown that it stays so.
    static constexpr std::uint64_t least_sparse_samples = 4;

    // The limit is of errors relative to their counts.
    ConvergenceWatch(const ProcessProfile& profile, double limit_percent)
        : profile_(profile), limit_percent_(limit_percent) {}

    void begin(Clock::time_point now) { begin_ = now; }
    // A sample has finished, `samples` in all, and the program was in a phase like this. Looks at
    // errors, unless it did so a short while ago: that is to take a hundredth of the time at most.
    void observe(std::uint64_t samples, PhaseState phase, Clock::time_point now);
    // Until the program comes to a new phase, or errors grow.
    bool is_converged() const { return reached_.reached; }
    // By how much samples are to be farther apart: not while a new phase may have begun.
    double stretch() const;
    // Whether it has been converged for as long as that took, with samples to show it.
    bool has_lasted(Clock::time_point now) const;

    Convergence result() const;

  private:
    // Nothing: too few batches to tell.
    std::optional<double> error_percent(Clock::time_point now);
    void converge(double error_percent, Clock::time_point now);
    void take_up_again();

    const ProcessProfile& profile_;
    const double limit_percent_;
    Convergence reached_;
    std::uint64_t samples_ = 0;
    PhaseState phase_ = PhaseState::known;
    Clock::time_point begin_, next_look_, converged_at_;
    std::optional<Clock::time_point> first_sample_at_;
};

}  // namespace shadowprof
