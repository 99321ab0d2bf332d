// What samples cost the target, and what a budget leaves for more.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "profile/profile.h"
#include "ptrace/thread/wait_hub.h"
#include "shadow/budget/budget.h"
#include "shadow/budget/cost_account.h"
#include "shadow/budget/cpu_budget.h"
#include "shadow/budget/live_account.h"
#include "shadow/budget/window_length.h"
#include "shadow/input/input_recorder.h"
#include "shadow/program/process_tree.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

class SamplingCosts {
  public:
    using Clock = std::chrono::steady_clock;

    // Measures what page faults cost on this machine. The arguments must outlive it.
    SamplingCosts(const RunOptions& options, WaitHub& hub);

    // The share of the target's time that samples may cost; nothing: they cost what they cost.
    std::optional<double> share() const;
    void begin(Clock::time_point now);
    // From now on samples may cost so many percent, whether there was a budget or not.
    void set_budget(double percent, Clock::time_point now, double processes);
    // Time has passed in which so many processes ran.
    void pass(Clock::time_point now, double processes);
    // When a sample that costs so much will be within both budgets; nothing: it is.
    std::optional<Clock::time_point> too_dear_until(double cost_seconds,
                                                    Clock::time_point now) const;
    // There is a budget, and room for several such samples in it.
    bool has_much_room(double cost_seconds, Clock::time_point now) const;

    // The target stood still for so long.
    void add_pause(std::chrono::nanoseconds pause);
    // The same, where that was to be `limit` at most.
    void add_limited_pause(std::chrono::nanoseconds pause, std::chrono::nanoseconds limit);
    // The part of a pause in which a replica was forked.
    void add_fork(std::chrono::nanoseconds time);
    // Input is to be recorded for a sample of the process: at how many stops at most. Outside of a
    // stop, as what one costs is measured first.
    std::uint64_t most_input_stops(const SampledProcess& process);
    // All system call stops until now.
    void take_syscall_stops(const InputRecorder::Totals& totals);
    LiveAccount& live_samples() { return live_samples_; }
    const LiveAccount& live_samples() const { return live_samples_; }

    // A sample of the process was begun, which stood still for so long; what it costs beyond that
    // is known later.
    void on_sample(SampledProcess& process, SampleKind kind, std::chrono::nanoseconds pause);
    // Where the process's threads are was taken down in a stop, and their code is translated ahead:
    // what that costs is not the price of asking whether a sample is due.
    void on_observed(SampledProcess& process);
    // A sample of the process has finished. `own_cpu_ns`: processor time of this process and the
    // workers.
    void on_finished(SampledProcess& process, Clock::time_point now, std::uint64_t own_cpu_ns);
    // Before a sample: what the process has paid since the last one goes to that. `own_cpu_ns`: as
    // above; `is_sampling`: samples go on.
    void settle(SampledProcess& process, Clock::time_point now, std::uint64_t own_cpu_ns,
                bool is_sampling);

    double total_seconds() const { return costs_.total_seconds(); }
    // The price of a fault that a fork has induced, by itself, while the replica lives.
    double fault_seconds() const { return costs_.fault_prices().seconds({.copied = 1}); }
    // How long the window of the process's next shadow sample is to be.
    std::chrono::nanoseconds window_length(const SampledProcess& process) const;
    // What a shadow sample of the process costs it at most, if its replica lives no longer than
    // usual.
    double most_shadow_seconds(const SampledProcess& process) const;

    // Sets the overhead, `seconds` of the target's time; adds counters of recorded input.
    void fill(Profile& profile, double seconds) const;

  private:
    // What the process has waited for us since the last call, which is added to the costs. Nothing
    // where that cannot be known.
    std::optional<double> observe_theft(SampledProcess& process, Clock::time_point now,
                                        std::uint64_t own_cpu_ns);

    const RunOptions& options_;
    WaitHub& hub_;
    CostAccount costs_;
    LiveAccount live_samples_;
    WindowLength window_length_;
    double budget_percent_;  // that the run began with; 0: none
    std::optional<Budget> budget_;
    std::optional<CpuBudget> cpu_budget_;
    double written_off_seconds_ = 0;  // of the budget: Budget::write_off()
    std::optional<double> syscall_stop_price_ns_;
    InputRecorder::Totals recorded_;        // the part of it that is accounted for
    double unsettled_syscall_seconds_ = 0;  // that no sample has paid yet
    std::uint64_t recorded_process_ = 0;    // whose samples they are for: the last one's number
};

}  // namespace shadowprof
