// Looks by the kernel's clock of each processor (ptrace/clock/clock_events.h): nobody is stopped,
// and five times as many cost the same as looks by stops (thread_looks.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ptrace/clock/clock_events.h"
#include "shadow/looks/looks.h"

namespace shadowprof {

class ClockLooks final : public Looks {
  public:
    // The average time between two ticks where Looks::usual_share is allowed.
    static constexpr std::chrono::nanoseconds usual_period{10'000'000};

    // `max_share`: of its time, that a thread may be interrupted; above 0. Errors: those of
    // ClockEvents::open(), and permission if the kernel does not tell its symbols.
    static Result<std::unique_ptr<ClockLooks>> open(std::uint64_t seed, double max_share);

    Clock::time_point next() const override { return next_; }
    std::optional<int> processor_to_visit(const ProcessTree&) override { return std::nullopt; }
    std::vector<SeenThread> look(const ProcessTree& processes, std::optional<int> here,
                                 Clock::time_point now) override;
    // Ticks come also if they are read late.
    void skip(Clock::time_point) override {}
    std::vector<SeenThread> pause(const ProcessTree& processes, Clock::time_point now) override;
    std::chrono::nanoseconds paused() const override { return paused_; }
    std::uint64_t lost() const override { return lost_; }
    bool is_clock() const override { return true; }

  private:
    struct Process {
        std::uint64_t number = 0;
        std::uint64_t exec_count = 0;
        bool has_changed = false;  // has executed a program since the last look
        // While threads stood still for a sample, and made system calls for us.
        std::vector<std::pair<Clock::time_point, Clock::time_point>> stops;
    };
    using Processes = std::map<pid_t, Process>;

    ClockLooks(std::uint64_t seed, std::chrono::nanoseconds period, ClockEvents events)
        : random_(seed), period_(period), events_(std::move(events)) {}

    std::vector<SeenThread> read(const ProcessTree& processes, Clock::time_point now);
    void charge(std::size_t ticks, std::chrono::nanoseconds time);
    Processes living(const ProcessTree& processes);
    void add_seen(std::vector<SeenThread>& all, const Processes& processes,
                  const ClockEvent& event);
    std::chrono::nanoseconds varied(std::chrono::nanoseconds time);

    std::mt19937_64 random_;
    std::chrono::nanoseconds period_;
    ClockEvents events_;
    OwedTime owed_;
    Processes processes_;                    // at the last look
    std::deque<StackCopy> stacks_;           // their memory is reused from look to look
    std::size_t stacks_used_ = 0;            // in the last look
    Clock::time_point next_, last_, since_;  // since_: ticks before count nothing
    std::chrono::nanoseconds paused_{0};
    std::uint64_t lost_ = 0;
};

}  // namespace shadowprof
