// What all samples of a run came to.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "profile/profile.h"
#include "profile/statistics/count_scale.h"
#include "shadow/program/thread_table.h"
#include "shadow/results/convergence.h"
#include "shadow/results/phase_detector.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

class SampleResults {
  public:
    using Clock = std::chrono::steady_clock;

    // `profile` must outlive it.
    SampleResults(const ProcessProfile& profile, std::optional<double> until_converged_percent);

    void begin(Clock::time_point now);
    // A sample has finished.
    void add(const SampleReport& report);
    // A sample came to nothing.
    void add_void(const SampleReport& report);
    // A sample was due, and nothing ran.
    void add_idle();
    // A sample was due, and could not be taken. The end of a process is no refusal.
    void add_refusal(const Error& error);
    void add_refusal(const std::string& reason) { ++refusals_[reason]; }
    // A replica lived for so long.
    void add_replica_lifetime(std::chrono::nanoseconds lifetime);

    std::uint64_t samples() const { return stats_.samples; }
    std::uint64_t instructions() const { return stats_.instructions; }
    // PhaseDetector::density().
    double density() const { return phases_.density(); }
    // ConvergenceWatch::stretch(), has_lasted() and is_converged(), where that was asked for.
    double stretch() const { return convergence_ ? convergence_->stretch() : 1; }
    bool has_stayed_converged(Clock::time_point now) const {
        return convergence_ && convergence_->has_lasted(now);
    }
    bool is_converged() const { return convergence_ && convergence_->is_converged(); }

    // From now on counts are scaled as they would be now. Does nothing before the first sample has
    // finished, unless none is to come any more, or again.
    void fix_scale(bool none_is_to_come);
    const std::optional<CountScale>& fixed_scale() const { return fixed_scale_; }

    // Sets sampling, but for counters that are there already, system calls and threads.
    void fill(Profile& profile) const;
    // Instructions of processes: from weighted counts to numbers of the profile.
    void scale_processes(Profile& profile) const;
    // Says what was not taken, and what ended samples early. `taken`: samples that were begun.
    void fill_notes(Profile& profile, std::uint64_t taken) const;

  private:
    void add_window(const SampleReport& report);
    const CountScale& scale() const { return fixed_scale_ ? *fixed_scale_ : scale_; }

    SamplingStats stats_;
    CountScale scale_;  // of what is counted by process and thread
    std::optional<CountScale> fixed_scale_;
    SyscallStats syscalls_;
    ThreadTable threads_;
    PhaseDetector phases_;
    std::optional<ConvergenceWatch> convergence_;
    std::map<std::string, std::uint64_t> end_reasons_;
    std::map<std::string, std::uint64_t> refusals_;
    std::uint64_t damaged_ = 0;
};

}  // namespace shadowprof
