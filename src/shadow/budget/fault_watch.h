// Tells the page faults that forks induced in a process from its own.
//
// After a fork, each page of the process's own memory costs it a fault at the first write, even
// long after the replica has died. While the replica lives, the page is copied. Later it is only
// made writable again, which costs less. The kernel counts these faults together with all others.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace shadowprof {

// Faults that forks induced, by what they cost.
struct InducedFaults {
    std::uint64_t copied = 0;  // while a replica lived
    std::uint64_t reused = 0;  // after its end

    friend bool operator==(const InducedFaults&, const InducedFaults&) = default;
};

class FaultWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // `minor_faults`: how many the process has had until now. Returns how many of those since the
    // last call, or since on_fork(), were induced. That is an upper bound, as the process's own
    // faults are only known from recent times without a fork.
    InducedFaults observe(Clock::time_point now, std::uint64_t minor_faults);
    // The process was forked, with `pages` pages that the replica shares. To be called right after
    // observe().
    void on_fork(std::uint64_t pages);
    // A replica has ended. `minor_faults`: how many the process has had until now.
    void on_replica_end(Clock::time_point now, std::uint64_t minor_faults);

  private:
    static constexpr std::size_t windows = 3;
    // After how many observations a fork's faults have passed, and a learned rate is too old.
    static constexpr unsigned looks_of_fork = 6;
    static constexpr unsigned looks_of_rate = 12;

    std::uint64_t take_induced(std::uint64_t faults, double seconds);
    void learn(double faults_per_second);
    double own_rate() const;

    std::optional<std::uint64_t> faults_;
    Clock::time_point time_;
    unsigned replicas_ = 0;         // living
    std::uint64_t copied_ = 0;      // not reported by observe() yet
    std::uint64_t pages_left_ = 0;  // pages of the last fork that may still fault
    unsigned looks_since_fork_ = 0;
    std::array<double, windows> rates_ = {};  // own faults, in the last stretches without a fork
    std::size_t learned_ = 0;
    unsigned looks_since_learned_ = 0;
};

}  // namespace shadowprof
