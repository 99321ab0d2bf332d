// Tells the page faults that forks induced in a process from its own.
//
// After a fork, each page that the process writes to costs it a fault, once: of its own memory, and
// long after the replica has died. As long as the replica lives the page is copied; later it is
// only made writable again, which costs less. The kernel counts these with all others.
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

    // The process has had so many minor faults until now. How many of those since the last call, or
    // since on_fork(), forks have induced: at most that many, as what it would have had anyway is
    // only known from times without a fork that are not long ago.
    InducedFaults observe(Clock::time_point now, std::uint64_t minor_faults);
    // It was forked, and had so many pages that the replica shares. observe() comes right before.
    void on_fork(std::uint64_t pages);
    // A replica has ended, and the process has had so many minor faults until now.
    void on_replica_end(Clock::time_point now, std::uint64_t minor_faults);

  private:
    static constexpr std::size_t windows = 3;
    // After so many looks, what a fork has induced has passed; and so long what was learned holds.
    static constexpr unsigned looks_of_fork = 6;
    static constexpr unsigned looks_of_rate = 12;

    std::uint64_t take_induced(std::uint64_t faults, double seconds);
    void learn(double faults_per_second);
    double own_rate() const;

    std::optional<std::uint64_t> faults_;
    Clock::time_point time_;
    unsigned replicas_ = 0;         // that live
    std::uint64_t copied_ = 0;      // that observe() has not told yet
    std::uint64_t pages_left_ = 0;  // that the last fork may still make fault
    unsigned looks_since_fork_ = 0;
    std::array<double, windows> rates_ = {};  // of the last times without a fork
    std::size_t learned_ = 0;
    unsigned looks_since_learned_ = 0;
};

}  // namespace shadowprof
