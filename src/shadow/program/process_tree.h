// The processes of a run as the sampler sees them: the target and, where its forks are followed,
// all that come of it.
//
// What is fair: at the moment at which a sample is due, each process that is running or waits for a
// processor has the same chance; those that sleep have none, and cost nothing. So in a stretch of
// time in which the same number of processes run, each gets samples in proportion to the time that
// it ran. Where this number changes, pace() makes samples the denser the more run (SamplePace);
// that works as far as it is the measured cost that keeps samples apart, which it is unless a load
// was asked for. A process counts once, however many threads it has, since a sample holds them all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ptrace/proc/program_check.h"
#include "ptrace/replica/target_family.h"
#include "shadow/budget/fault_watch.h"
#include "shadow/budget/kind_choice.h"
#include "shadow/budget/processor_theft.h"
#include "shadow/budget/standing_cost.h"
#include "shadow/input/input_need.h"
#include "shadow/program/code_speeds.h"
#include "shadow/program/fault_price.h"
#include "shadow/program/meeting_place.h"
#include "shadow/program/process_log.h"
#include "shadow/program/sample_pace.h"
#include "shadow/program/unforked_watch.h"
#include "shadow/program/vdso_watch.h"
#include "shadow/request/shadow_policy.h"
#include "shadow/window/live_windows.h"
#include "shadow/window/sample_window.h"

namespace shadowprof {

// The last sample of a process, whose cost is not known in full yet, and its pause. Without a kind
// it was a look at where the threads are.
struct UnsettledSample {
    std::optional<SampleKind> kind = {};
    double pause_seconds = 0;
};

// One live process, and what the sampler keeps of it from sample to sample.
struct SampledProcess {
    std::uint64_t number = 0;  // in the order of birth; the target that the user named is 0
    Target* target = nullptr;

    VdsoWatch vdso;
    UnforkedWatch unforked;
    ForkHistory fork_history;
    bool maps_changed = false;  // between the plan of the last live sample and its stop
    FaultWatch faults;
    ProcessorTheft theft;
    StandingCost standing;
    KindChoice kinds;
    CodeSpeeds speeds;
    FaultStorms storms;
    LiveWindows live_windows;
    FaultPrice fault_price;
    InputNeed input_need;
    std::optional<UnsettledSample> unsettled;
    double unsettled_waiting_seconds = 0;  // for us, until the last sample had finished
    MeetingPlace meeting;
    unsigned idle_in_a_row = 0;  // nothing executed when samples were due
    unsigned waits_for_us = 0;   // the same, in a row: RunsBeforeStop::all_wait_for_us()
    // It was idle for so long that it is looked at before it is stopped, and it sleeps. One that
    // sleeps now and then is stopped: threads that run for shorter than a stop takes would be
    // sampled too seldom.
    bool sleeps_on() const;

    // InputNeed::observe(). With recorded input a shadow is worth something else, and costs
    // something else.
    void note_input_need(bool is_needed) {
        if (input_need.observe(is_needed)) kinds.forget(SampleKind::shadow);
    }

    std::uint64_t known_exec_count = 0;  // ProcessTree's own
    std::uint64_t cpu_ns = 0;            // when it was last looked at
};

class ProcessTree {
  public:
    using Clock = std::chrono::steady_clock;

    // Both must outlive it.
    ProcessTree(WaitHub& hub, Target& first, Clock::time_point start);

    // Deals with a status from the hub; those of others are passed over.
    void handle(const WaitEvent& event) { (void)family_.handle(event); }
    // Takes note of processes that were born, have executed a program, or have ended. To be called
    // after statuses were handled, and after stops.
    void update(Clock::time_point now);

    // See Target::watch_syscalls(); of all of them.
    void watch_syscalls(SyscallWatcher* watcher);

    Target& first() { return *processes_.at(0).target; }
    // By number: those that live, and the first.
    const std::map<std::uint64_t, SampledProcess>& processes() const { return processes_; }
    // Null if it has ended, or was let go.
    SampledProcess* find(std::uint64_t number);
    // One that executes a program that is not for x86-64; null if there is none.
    SampledProcess* find_unsupported();
    // Ends the tracing of one.
    Result<void> detach(SampledProcess& process, Clock::time_point now);
    // Ends the tracing of all. The answer is the first target's.
    Result<void> detach_all(Target::Sleepers sleepers, Clock::time_point now);
    // No process is left to sample; the first one may still live.
    bool has_nothing_to_sample() const;

    // The process to sample now. Null if none runs; where there is only one, that one, running or
    // not. With a processor, which the caller has taken: one that would run there, if
    // there is one.
    SampledProcess* choose(std::mt19937_64& random, Clock::time_point now,
                           std::optional<int> processor = std::nullopt);
    // Any of those that it would choose among, whether it runs or not; null if there is none.
    SampledProcess* choose_any(std::mt19937_64& random);
    // Among how many processes it would choose, whether they run or not.
    std::size_t candidates() const;
    // By how much the interval to the next sample is to be stretched, after the last choice, and
    // among how many processes that was.
    double pace() const { return pace_; }
    std::size_t running() const { return running_; }
    // The time that passed while something ran, times the processes that did.
    double process_seconds() const { return sample_pace_.process_seconds(); }

    ProcessLog& log() { return log_; }
    // Processes and notes.
    void fill(Profile& profile, Clock::time_point now) const;

  private:
    void note_births(Clock::time_point now);
    void note_exec(SampledProcess& process);
    static bool is_candidate(const SampledProcess& process);
    std::vector<SampledProcess*> candidate_list();
    bool ran_since_last_look(SampledProcess& process);

    TargetFamily family_;
    std::map<std::uint64_t, SampledProcess> processes_;
    std::uint64_t next_number_ = 1;  // that the family has not shown yet
    ProcessLog log_;
    const Credentials credentials_ = Credentials::of_this_process();
    std::map<std::string, std::uint64_t> unprivileged_;  // by program
    SyscallWatcher* watcher_ = nullptr;
    std::uint64_t detached_ = 0;  // because the run ended
    SamplePace sample_pace_;
    double pace_ = 1;
    std::size_t running_ = 0;
};

}  // namespace shadowprof
