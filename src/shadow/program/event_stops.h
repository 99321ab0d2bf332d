// Stops that nobody has asked for (StopAllowance): what they cost each process, and which processes
// are let go because of them.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "profile/profile.h"
#include "shadow/program/process_tree.h"

namespace shadowprof {

class EventStops {
  public:
    using Clock = std::chrono::steady_clock;

    // `price_ns`: from one stop to the next of a thread that does nothing between them.
    explicit EventStops(double price_ns) : price_seconds_(price_ns / 1e9) {}

    // To be called whenever statuses were handled, from `woke` until `now`. `waited`: how long we
    // have waited for them since the last call, or processes have stood still for samples. Each
    // process may lose `share` of its time. Returns what the stops have cost.
    double charge(ProcessTree& processes, Clock::time_point woke, Clock::time_point now,
                  Clock::duration waited, double share);
    // Returns a process whose stops have used up what it may lose; null if there is none.
    static SampledProcess* find_used_up(ProcessTree& processes);
    // Returns a process that was let go and sleeps, as for processes that it has started, and may
    // start some more at what it may lose; null if there is none.
    static SampledProcess* find_waiting(ProcessTree& processes);

    // Lets the process go, or follows it again, and returns what that has cost it. Errors: those of
    // Target::let_go() and Target::seize_again().
    Result<double> let_go(SampledProcess& process);
    Result<double> follow_again(SampledProcess& process);

    // Adds counters, and a note if processes were let go. `has_budget`: the user may allow more by
    // a larger one.
    void fill(Profile& profile, bool has_budget) const;

  private:
    const double price_seconds_;
    Clock::time_point last_;  // of charge()
    std::uint64_t stops_ = 0, let_go_ = 0;
    double cost_seconds_ = 0;
    double seconds_let_go_ = 0;  // of all processes
};

}  // namespace shadowprof
