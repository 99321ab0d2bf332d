// What profiling costs the target, measured while it happens.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "ptrace/thread/wait_hub.h"
#include "shadow/budget/fault_watch.h"

namespace shadowprof {

// What an induced fault costs on this machine.
struct FaultPrices {
    double copy_ns = 0;   // while the replica lives
    double reuse_ns = 0;  // after its end

    double seconds(const InducedFaults& faults) const {
        return (static_cast<double>(faults.copied) * copy_ns +
                static_cast<double>(faults.reused) * reuse_ns) /
               1e9;
    }
};

class CostAccount {
  public:
    explicit CostAccount(const FaultPrices& fault_prices) : fault_prices_(fault_prices) {}

    // One stop of the target, from the first thread stopped to the last resumed.
    void add_pause(std::uint64_t nanoseconds) {
        pauses_ns_.push_back(nanoseconds);
        stopped_ns_ += nanoseconds;
    }
    // The part of a pause in which a replica was forked.
    void add_fork(std::uint64_t nanoseconds) { forks_ns_.push_back(nanoseconds); }
    void add_faults(const InducedFaults& faults) {
        induced_faults_.copied += faults.copied;
        induced_faults_.reused += faults.reused;
    }

    std::uint64_t stopped_ns() const { return stopped_ns_; }

    // Adds time in which single threads of the target stood still at recorded system calls.
    void add_syscall_stops(std::uint64_t nanoseconds) { syscall_stops_ns_ += nanoseconds; }
    std::uint64_t syscall_stops_ns() const { return syscall_stops_ns_; }
    // Adds time in which it stood still at signals and births.
    void add_event_stops(double seconds) { event_stops_seconds_ += seconds; }
    // Adds time in which single threads stood still for looks (Looks).
    void add_looks(std::uint64_t nanoseconds) { looks_ns_ += nanoseconds; }
    // Adds time in which the target waited for processors that shadowprof had.
    void add_theft(double seconds) { theft_seconds_ += seconds; }

    const FaultPrices& fault_prices() const { return fault_prices_; }
    const InducedFaults& induced_faults() const { return induced_faults_; }
    // All costs together.
    double total_seconds() const;
    // As a percentage of the time that the target would have needed alone.
    double estimated_slowdown_percent(double target_seconds) const;
    void fill(Overhead& overhead, double target_seconds) const;

  private:
    FaultPrices fault_prices_;
    std::vector<std::uint64_t> pauses_ns_;
    std::uint64_t stopped_ns_ = 0;
    std::vector<std::uint64_t> forks_ns_;
    InducedFaults induced_faults_;
    std::uint64_t syscall_stops_ns_ = 0, looks_ns_ = 0;
    double event_stops_seconds_ = 0;
    double theft_seconds_ = 0;
};

// Median, 99th percentile and maximum; zeroes for an empty list.
DurationStats duration_stats(std::vector<std::uint64_t> nanoseconds);

// Measured with children of this process; 0 if that is not possible.
FaultPrices measure_fault_prices(WaitHub& hub);

}  // namespace shadowprof
