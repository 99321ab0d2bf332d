// Tells when a profile is accurate enough: the errors of its hottest edges are under a limit. From
// then on samples are sparse, and show whether it stays so.
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

    // Samples are farther apart by this factor while the profile is accurate enough.
    static constexpr double sparse_stretch = 8;
    // The profile is no longer accurate enough if errors become this many times the limit. Sparse
    // samples stand for more of the run, which makes errors larger by itself. With N samples of
    // weight 1 and k of weight w, errors are as of (N + w k)^2 / (N + w^2 k) samples. The least of
    // these is 4 (w - 1) N / w^2, so w = 8 makes errors 1.51 times as large at most.
    static constexpr double max_growth = 2;
    // How many samples must have shown that it stays so.
    static constexpr std::uint64_t min_sparse_samples = 4;

    // `profile` must outlive it. The limit is for errors relative to their counts.
    ConvergenceWatch(const ProcessProfile& profile, double limit_percent)
        : profile_(profile), limit_percent_(limit_percent) {}

    void begin(Clock::time_point now) { begin_ = now; }
    // Records that a sample has finished, `samples` in all, and the phase that the program was in.
    // Looks at errors, unless it did so a short while ago: that should take a hundredth of the time
    // at most.
    void observe(std::uint64_t samples, PhaseState phase, Clock::time_point now);
    // True until the program comes to a new phase, or errors grow.
    bool is_converged() const { return reached_.reached; }
    // The factor by which samples should be farther apart; 1 while a new phase may have begun.
    double stretch() const;
    // Whether it has been converged for as long as converging took, with samples to show it.
    bool has_lasted(Clock::time_point now) const;

    Convergence result() const;

  private:
    // Nothing if there are too few batches to tell.
    std::optional<double> error_percent(Clock::time_point now);
    void converge(double error_percent, Clock::time_point now);
    void take_up_again();

    const ProcessProfile& profile_;
    const double limit_percent_;
    Convergence reached_;
    std::uint64_t samples_ = 0;
    PhaseState phase_ = PhaseState::known;
    Clock::time_point begin_, next_observation_, converged_at_;
    std::optional<Clock::time_point> first_sample_at_;
};

}  // namespace shadowprof
