// What profiling costs the target, measured while it happens.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "ptrace/wait_hub.h"

namespace shadowprof {

class CostAccount {
  public:
    // `fault_price_ns`: of one copy-on-write fault on this machine.
    explicit CostAccount(double fault_price_ns) : fault_price_ns_(fault_price_ns) {}

    // One stop of the target, from the first thread stopped to the last resumed.
    void add_pause(std::uint64_t nanoseconds) { pauses_ns_.push_back(nanoseconds); }
    // The part of a pause in which a replica was forked.
    void add_fork(std::uint64_t nanoseconds) { forks_ns_.push_back(nanoseconds); }
    // The target's minor faults from one fork to the next, or to its end.
    void add_faults(std::uint64_t faults) { induced_faults_ += faults; }

    double fault_price_ns() const { return fault_price_ns_; }
    // After a fork the target pays a fault for each page that it writes to, long after the replica
    // died. Its own faults cannot be told from these: this is an upper bound.
    std::uint64_t induced_faults() const { return induced_faults_; }
    // Stops and induced faults, as a share of the time that the target would have needed alone.
    double estimated_slowdown_percent(double target_seconds) const;
    void fill(Overhead& overhead, double target_seconds) const;

  private:
    double stopped_seconds() const;

    double fault_price_ns_;
    std::vector<std::uint64_t> pauses_ns_;
    std::vector<std::uint64_t> forks_ns_;
    std::uint64_t induced_faults_ = 0;
};

// Median, 99th percentile and maximum; zeroes for an empty list.
DurationStats duration_stats(std::vector<std::uint64_t> nanoseconds);

// The price of one copy-on-write fault after a fork, in nanoseconds, measured in a child of this
// process; 0 if that was not possible.
double measure_fault_price_ns(WaitHub& hub);

}  // namespace shadowprof
