// The results of all samples of a run.
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
#include "shadow/results/sample_timeline.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

class SampleResults {
  public:
    using Clock = std::chrono::steady_clock;

    // `profile` must outlive it.
    SampleResults(const ProcessProfile& profile, std::optional<double> until_converged_percent);

    void begin(Clock::time_point now);
    // To be called when a sample has finished.
    void add(const SampleReport& report);
    // To be called when a sample came to nothing.
    void add_void(const SampleReport& report);
    // To be called when a sample was due and nothing ran.
    void add_idle();
    // To be called when a sample was due and could not be taken. The end of a process is no
    // refusal.
    void add_refusal(const Error& error);
    void add_refusal(const std::string& reason) { ++refusals_[reason]; }
    // To be called when a replica has ended.
    void add_replica_lifetime(std::chrono::nanoseconds lifetime);

    std::uint64_t samples() const { return stats_.samples; }
    std::uint64_t instructions() const { return stats_.instructions; }
    // PhaseDetector::density().
    double density() const { return phases_.density(); }
    // ConvergenceWatch::stretch(), has_lasted() and is_converged(), if convergence was asked for.
    double stretch() const { return convergence_ ? convergence_->stretch() : 1; }
    bool has_stayed_converged(Clock::time_point now) const {
        return convergence_ && convergence_->has_lasted(now);
    }
    bool is_converged() const { return convergence_ && convergence_->is_converged(); }

    // Fixes the scale of counts as it is now. Does nothing before the first sample has finished,
    // unless no more samples will come.
    void fix_scale(bool none_is_to_come);
    const std::optional<CountScale>& fixed_scale() const { return fixed_scale_; }

    // Sets sampling, system calls, threads and the timeline. Keeps other counters that are there
    // already.
    void fill(Profile& profile) const;
    // Scales the instructions of processes from weighted counts to numbers of the profile.
    void scale_processes(Profile& profile) const;
    // Notes what was not taken, and what ended samples early. `taken`: samples that were begun.
    void fill_notes(Profile& profile, std::uint64_t taken) const;

  private:
    void add_window(const SampleReport& report);
    const CountScale& scale() const { return fixed_scale_ ? *fixed_scale_ : scale_; }

    SamplingStats stats_;
    CountScale scale_;  // for counts by process and thread
    std::optional<CountScale> fixed_scale_;
    SyscallStats syscalls_;
    ThreadTable threads_;
    SampleTimeline timeline_;
    PhaseDetector phases_;
    std::optional<ConvergenceWatch> convergence_;
    std::map<std::string, std::uint64_t> end_reasons_;
    std::map<std::string, std::uint64_t> refusals_;
    std::uint64_t damaged_ = 0;
};

}  // namespace shadowprof
