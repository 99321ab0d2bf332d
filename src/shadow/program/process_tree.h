// The processes of a run as the sampler sees them: the target and, if they are followed, all that
// descend from it.
//
// When a sample is due, each process that is running or waits for a processor has the same chance.
// Those that sleep have none, and cost nothing. So while the number of running processes stays the
// same, each gets samples in proportion to the time that it ran. Where this number changes, pace()
// makes samples denser the more processes run (SamplePace). That works if the measured cost keeps
// samples apart, which it does unless a load was asked for. A process counts once, however many
// threads it has, since a sample holds them all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ptrace/replica/target_family.h"
#include "shadow/budget/fault_watch.h"
#include "shadow/budget/kind_choice.h"
#include "shadow/budget/processor_theft.h"
#include "shadow/budget/standing_cost.h"
#include "shadow/budget/stop_allowance.h"
#include "shadow/input/input_need.h"
#include "shadow/program/code_speeds.h"
#include "shadow/program/fault_price.h"
#include "shadow/program/process_log.h"
#include "shadow/program/sample_pace.h"
#include "shadow/program/thread_log.h"
#include "shadow/program/unforked_watch.h"
#include "shadow/program/unprivileged_programs.h"
#include "shadow/program/vdso_watch.h"
#include "shadow/program/waiting_processor.h"
#include "shadow/request/shadow_policy.h"
#include "shadow/window/live_windows.h"
#include "shadow/window/sample_window.h"

namespace shadowprof {

// The last sample of a process, whose cost is not fully known yet, and its pause. If it has no
// kind, it only looked at where the threads are.
struct UnsettledSample {
    std::optional<SampleKind> kind = {};
    double pause_seconds = 0;
};

// One live process, and what the sampler keeps about it from sample to sample.
struct SampledProcess {
    std::uint64_t number = 0;  // in order of birth; 0 is the target that the user named
    Target* target = nullptr;

    VdsoWatch vdso;
    UnforkedWatch unforked;
    ForkHistory fork_history;
    bool maps_changed = false;  // between the plan of the last live sample and its stop
    FaultWatch faults;
    ProcessorTheft theft;
    StandingCost standing;
    StopAllowance stops;
    bool stopped_last = false;  // used by EventStops
    bool was_let_go = false;    // because of its stops, once or more
    KindChoice kinds;
    CodeSpeeds speeds;
    FaultStorms storms;
    LiveWindows live_windows;
    FaultPrice fault_price;
    InputNeed input_need;
    std::optional<UnsettledSample> unsettled;
    double unsettled_waiting_seconds = 0;  // waiting for us until the last sample finished
    WaitingProcessor waiting_processor;
    unsigned idle_in_a_row = 0;  // how often in a row nothing executed when a sample was due
    unsigned waits_for_us = 0;   // how often in a row RunsBeforeStop::all_wait_for_us() held
    // Whether the process has been idle for so long that it is looked at before it is stopped, and
    // sleeps. A process that sleeps now and then is stopped without an observation: threads that
    // run for less time than a stop takes would be sampled too seldom.
    bool sleeps_on() const;

    // Passes `is_needed` to InputNeed::observe(). With recorded input a shadow sample has another
    // worth and another cost.
    void note_input_need(bool is_needed) {
        if (input_need.observe(is_needed)) kinds.forget(SampleKind::shadow);
    }

    std::uint64_t known_exec_count = 0;  // used by ProcessTree
    std::uint64_t cpu_ns = 0;            // at the last observation
};

class ProcessTree {
  public:
    using Clock = std::chrono::steady_clock;

    // `hub` and `first` must outlive the tree. `children` descend from `first`.
    ProcessTree(WaitHub& hub, Target& first, Clock::time_point start,
                std::vector<AttachedChild> children = {});

    // Handles a status from the hub; those of other processes are ignored.
    void handle(const WaitEvent& event) { (void)family_.handle(event); }
    // Notes processes that were born, have executed a program, or have ended. To be called after
    // statuses were handled, and after stops.
    void update(Clock::time_point now);

    // Calls Target::watch_syscalls() for all processes, also for those that are born later.
    void watch_syscalls(SyscallWatcher* watcher);

    Target& first() { return *processes_.at(0).target; }
    // The processes that live, and the first one, by number.
    const std::map<std::uint64_t, SampledProcess>& processes() const { return processes_; }
    std::map<std::uint64_t, SampledProcess>& processes() { return processes_; }
    // Null if the process has ended, or was let go for good.
    SampledProcess* find(std::uint64_t number);
    // Null if the process has ended, or is not traced, for good or for now.
    Target* traced(std::uint64_t number) const;
    // A process that executes a program that is not for x86-64; null if there is none.
    SampledProcess* find_unsupported();
    // Ends the tracing of `process`.
    Result<void> detach(SampledProcess& process, Clock::time_point now);
    // Ends the tracing of all processes. Returns the result for the first one.
    Result<void> detach_all(Target::Sleepers sleepers, Clock::time_point now);
    // Whether no process is left to sample; the first one may still live.
    bool has_nothing_to_sample() const;

    // Returns the process to sample now, or null if none runs. A single process is returned whether
    // it runs or not. If `processor` is given, which the caller has taken, processes that would run
    // there are preferred.
    SampledProcess* choose(std::mt19937_64& random, Clock::time_point now,
                           std::optional<int> processor = std::nullopt);
    // Returns any process that choose() could return, whether it runs or not; null if there is
    // none.
    SampledProcess* choose_any(std::mt19937_64& random);
    // The number of processes that choose() could return, whether they run or not.
    std::size_t candidates() const;
    // After the last choose(): the factor for the interval to the next sample, and the number of
    // processes among which it chose.
    double pace() const { return pace_; }
    std::size_t running() const { return running_; }
    // The time in which something ran, multiplied by the number of running processes.
    double process_seconds() const { return sample_pace_.process_seconds(); }

    ProcessLog& log() { return log_; }
    // Sets the processes and adds notes.
    void fill(Profile& profile, Clock::time_point now) const;

  private:
    void note_births(Clock::time_point now);
    void note_exec(SampledProcess& process);
    void note_threads(const Target& target, Clock::time_point now);
    static bool is_candidate(const SampledProcess& process);
    std::vector<SampledProcess*> candidate_list();
    bool ran_since_last_observation(SampledProcess& process);

    TargetFamily family_;
    std::map<std::uint64_t, SampledProcess> processes_;
    std::uint64_t next_number_ = 1;  // the lowest number that the family has not shown yet
    ProcessLog log_;
    ThreadLog threads_;  // of processes that are followed no longer
    UnprivilegedPrograms unprivileged_;
    SyscallWatcher* watcher_ = nullptr;
    std::uint64_t detached_ = 0;  // how many were let go because the first one ended
    SamplePace sample_pace_;
    double pace_ = 1;
    std::size_t running_ = 0;
};

}  // namespace shadowprof
