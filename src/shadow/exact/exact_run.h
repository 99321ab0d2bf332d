// Exact mode: the whole run is profiled.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "base/files/fd.h"
#include "base/result.h"
#include "ptrace/process/target.h"
#include "shadow/exact/exact_process.h"
#include "shadow/exact/exact_results.h"
#include "shadow/exact/exact_worker.h"
#include "shadow/exact/process_profiles.h"
#include "shadow/request/run_hooks.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

class ExactRun {
  public:
    // `hub`, `modules`, `profiles` and `probes` must outlive it; `probes` may be null.
    static Result<std::unique_ptr<ExactRun>> create(const RunOptions& options, std::uint64_t seed,
                                                    WaitHub& hub, ModuleTable& modules,
                                                    ProcessProfiles& profiles,
                                                    const ProbeRequest* probes = nullptr);

    // Follows the target, which stands before its first instruction, to its end, and if it follows
    // forks, the processes that it starts. What can be followed no further runs on by itself, and
    // fill() says so. So do processes that outlive the target. When `end_request` becomes readable
    // (-1: never), all are let go as soon as possible, and go on.
    void run(Target& target, const ProgressListener& on_progress, int end_request);
    // Adds the run's figures to `profile`.
    void fill(Profile& profile) const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Followed {
        std::unique_ptr<Target> born;  // null for the target of run()
        std::unique_ptr<ExactProcess> process;
        std::uint64_t executed_programs = 0;
    };
    // How a process was born. The members are those of ForwardedOptions.
    struct Birth {
        bool shares_memory = false;
        GuestAddress cleared_at_end = {};
        RefusedInstructions refused = {};
        GuestTime time = {};
    };
    // In order of birth; 0 is the target of run().
    using Number = std::uint64_t;

    ExactRun(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
             ProcessProfiles& profiles, const ProbeRequest* probes);
    Result<std::unique_ptr<ExactWorker>> take_worker(Number number, pid_t pid);
    void keep(std::unique_ptr<ExactWorker> worker);
    double checked_share() const;
    ForwardedOptions options_of(Number number, const Birth& birth);
    void follow_all();
    void await(std::chrono::nanoseconds longest);
    bool step_some(bool all);
    bool step(Number number);
    void begin(Number number, const Birth& birth, std::unique_ptr<ExactWorker> worker);
    void adopt_children(Number parent);
    Result<std::unique_ptr<ExactWorker>> worker_for_child(Number number, pid_t pid,
                                                          bool goes_on_in_same_memory);
    void note_programs(Number number, Followed& followed);
    void finish(Number number);
    void end_profile(Number number, const Target& target, const ExactProcess::Outcome& outcome);
    void note_end_of_target();
    void show_progress();

    const RunOptions options_;
    const std::uint64_t seed_;
    WaitHub& hub_;
    ModuleTable& modules_;
    ProcessProfiles& profiles_;
    const ProbeRequest* probes_;
    UniqueFd sigchld_;

    // With a collector, or without where processes have profiles of their own.
    std::vector<std::unique_ptr<ExactWorker>> idle_workers_;
    std::vector<OwnedWorker> idle_processes_;
    std::uint64_t workers_started_ = 0;
    Target* target_ = nullptr;
    ProgressListener on_progress_;
    int end_request_ = -1;
    std::map<Number, Followed> followed_;
    std::vector<Number> ready_;  // whose workers have said something
    Number next_number_ = 1;
    bool is_over_ = false;  // the target has ended
    ExactResults results_;
    Clock::time_point begin_, end_, next_progress_, next_look_;
};

// Lets a target that stands still go, untraced if possible, and waits for its end. The target must
// be our child.
void run_to_end(WaitHub& hub, Target& target);

}  // namespace shadowprof
