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
    void add_pause(std::uint64_t nanoseconds) {
        pauses_ns_.push_back(nanoseconds);
        stopped_ns_ += nanoseconds;
    }
    // The part of a pause in which a replica was forked.
    void add_fork(std::uint64_t nanoseconds) { forks_ns_.push_back(nanoseconds); }
    // See FaultWatch.
    void add_faults(std::uint64_t faults) { induced_faults_ += faults; }

    std::uint64_t stopped_ns() const { return stopped_ns_; }

    // Single threads of the target stood still for so long, at system calls that are recorded.
    void add_syscall_stops(std::uint64_t nanoseconds) { syscall_stops_ns_ += nanoseconds; }
    std::uint64_t syscall_stops_ns() const { return syscall_stops_ns_; }
    // The target waited for processors that shadowprof had.
    void add_theft(double seconds) { theft_seconds_ += seconds; }

    double fault_price_ns() const { return fault_price_ns_; }
    std::uint64_t induced_faults() const { return induced_faults_; }
    double faults_seconds(std::uint64_t faults) const {
        return static_cast<double>(faults) * fault_price_ns_ / 1e9;
    }
    // All of it.
    double total_seconds() const;
    // As a share of the time that the target would have needed alone.
    double estimated_slowdown_percent(double target_seconds) const;
    void fill(Overhead& overhead, double target_seconds) const;

  private:
    double fault_price_ns_;
    std::vector<std::uint64_t> pauses_ns_;
    std::uint64_t stopped_ns_ = 0;
    std::vector<std::uint64_t> forks_ns_;
    std::uint64_t induced_faults_ = 0;
    std::uint64_t syscall_stops_ns_ = 0;
    double theft_seconds_ = 0;
};

// Median, 99th percentile and maximum; zeroes for an empty list.
DurationStats duration_stats(std::vector<std::uint64_t> nanoseconds);

// The price of one copy-on-write fault after a fork, in nanoseconds, measured in a child of this
// process; 0 if that was not possible.
double measure_fault_price_ns(WaitHub& hub);

}  // namespace shadowprof
