// What samples cost the target, and what the budgets leave for more.
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

    // Measures what page faults and stops cost on this machine. The arguments must outlive it.
    SamplingCosts(const RunOptions& options, WaitHub& hub);

    // The share of the target's time that samples may cost; nothing: there is no limit.
    std::optional<double> share() const;
    void begin(Clock::time_point now);
    // Lets samples cost `percent` from now on, whether there was a budget or not.
    void set_budget(double percent, Clock::time_point now, double processes);
    // To be called when time has passed in which `processes` processes ran.
    void pass(Clock::time_point now, double processes);
    // When a sample of this cost will be within both budgets; nothing: it is now.
    std::optional<Clock::time_point> too_dear_until(double cost_seconds,
                                                    Clock::time_point now) const;
    // Whether there is a budget with room for several such samples.
    bool has_much_room(double cost_seconds, Clock::time_point now) const;

    // Adds a stop of the target.
    void add_pause(std::chrono::nanoseconds pause);
    // Like add_pause(), for a stop that should have taken `limit` at most.
    void add_limited_pause(std::chrono::nanoseconds pause, std::chrono::nanoseconds limit);
    // Adds the part of a pause in which a replica was forked.
    void add_fork(std::chrono::nanoseconds time);
    // Adds what single threads lost by looks at them.
    void add_looks(std::chrono::nanoseconds pause);
    // Adds what the target lost at stops that nobody has asked for (EventStops). They leave samples
    // their budget.
    void add_event_stops(double seconds) {
        costs_.add_event_stops(seconds);
        if (budget_) budget_->forgive(seconds);
    }
    // The share of a process's time that it may lose at these: half as much as for samples, or half
    // of the time if there is no limit.
    double share_for_event_stops() const { return share_of_event_stops * share().value_or(1); }
    // From one stop to the next of a thread that does nothing between them.
    double stop_price_ns() const { return stop_price_ns_; }
    // Returns the most stops at which input is recorded for a sample of the process.
    std::uint64_t max_input_stops(const SampledProcess& process);
    // `totals`: all system call stops until now.
    void take_syscall_stops(const InputRecorder::Totals& totals);
    LiveAccount& live_samples() { return live_samples_; }
    const LiveAccount& live_samples() const { return live_samples_; }

    // To be called when a sample of the process was begun, with a stop of `pause`. Its other costs
    // become known later.
    void on_sample(SampledProcess& process, SampleKind kind, std::chrono::nanoseconds pause);
    // To be called when a stop showed where the process's threads are, whose code is translated
    // ahead. That cost must not count as the price of checking whether a sample is due.
    void on_observed(SampledProcess& process);
    // To be called when a sample of the process has finished. `own_cpu_ns`: processor time of this
    // process and the workers until now.
    void on_finished(SampledProcess& process, Clock::time_point now, std::uint64_t own_cpu_ns);
    // To be called before a sample. What the process has paid since its last sample is charged to
    // that one. `own_cpu_ns`: as above; `is_sampling`: samples go on.
    void settle(SampledProcess& process, Clock::time_point now, std::uint64_t own_cpu_ns,
                bool is_sampling);

    double total_seconds() const { return costs_.total_seconds(); }
    // How long the target has stood still for samples.
    std::chrono::nanoseconds stopped() const {
        return std::chrono::nanoseconds(costs_.stopped_ns());
    }
    // The cost of an induced fault by itself, while the replica lives.
    double fault_seconds() const { return costs_.fault_prices().seconds({.copied = 1}); }
    // The length of the window of the process's next shadow sample.
    std::chrono::nanoseconds window_length(const SampledProcess& process) const;
    // The most that a shadow sample of the process costs it, if its replica lives no longer than
    // usual.
    double max_shadow_seconds(const SampledProcess& process) const;

    // Sets the overhead in `seconds` of the target's time, and adds counters of recorded input.
    void fill(Profile& profile, double seconds) const;

  private:
    static constexpr double share_of_event_stops = 0.5;

    // Adds the time that the process has waited for us since the last call to the costs, and
    // returns it in seconds. Nothing if that cannot be known.
    std::optional<double> observe_theft(SampledProcess& process, Clock::time_point now,
                                        std::uint64_t own_cpu_ns);

    const RunOptions& options_;
    const double stop_price_ns_;
    CostAccount costs_;
    LiveAccount live_samples_;
    WindowLength window_length_;
    double budget_percent_;  // at the start of the run; 0: none
    std::optional<Budget> budget_;
    std::optional<CpuBudget> cpu_budget_;
    double written_off_seconds_ = 0;  // what Budget::write_off() returned, summed
    bool records_input_ = false;
    InputRecorder::Totals recorded_;        // at the last take_syscall_stops()
    double unsettled_syscall_seconds_ = 0;  // not charged to a sample yet
    std::uint64_t recorded_process_ = 0;    // number of the process that they are charged to
};

}  // namespace shadowprof
