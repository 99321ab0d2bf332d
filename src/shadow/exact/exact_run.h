// Exact mode: the whole run is profiled.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include "base/result.h"
#include "profile/collect/process_profile.h"
#include "ptrace/process/target.h"
#include "shadow/exact/forwarded_run.h"
#include "shadow/exact/interval_run.h"
#include "shadow/request/run_hooks.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

class ExactRun {
  public:
    // `hub`, `modules`, `profile` and `probes` must outlive it; `probes` may be null.
    static Result<std::unique_ptr<ExactRun>> create(const RunOptions& options, std::uint64_t seed,
                                                    WaitHub& hub, ModuleTable& modules,
                                                    ProcessProfile& profile,
                                                    const ProbeRequest* probes = nullptr);
    ~ExactRun();

    // Follows the target, which stands before its first instruction, to its end. If it can be
    // followed no further, it runs on by itself, and fill() says so. When `end_request` becomes
    // readable (-1: never), the target is let go as soon as possible, and goes on.
    void run(Target& target, const ProgressListener& on_progress, int end_request);
    // Adds the run's figures to `profile`.
    void fill(Profile& profile) const;

  private:
    using Clock = std::chrono::steady_clock;
    class Collecting;

    ExactRun(const RunOptions& options, std::uint64_t seed, WaitHub& hub, OwnedWorker worker);
    Result<void> follow(Target& target, const ProgressListener& on_progress, int end_request);
    void fill_threads(Profile& profile) const;
    double seconds() const;

    const RunOptions options_;
    const std::uint64_t seed_;
    WaitHub& hub_;
    OwnedWorker worker_;
    std::optional<WorkerProbes> probes_;
    std::unique_ptr<Collecting> collecting_;
    ExactStats stats_;
    std::vector<Divergence> divergences_;
    Clock::time_point begin_;
    double seconds_ = 0;
    WorkerCounters counters_ = {};
    pid_t pid_ = 0;
    std::map<pid_t, std::string> thread_names_;
};

// Lets a target that stands still go, untraced if possible, and waits for its end. The target must
// be our child.
void run_to_end(WaitHub& hub, Target& target);

}  // namespace shadowprof
