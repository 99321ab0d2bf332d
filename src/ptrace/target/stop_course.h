// How long a stop of a target may take, and from when on it costs the target anything.
#pragma once

#include <chrono>
#include <optional>

namespace shadowprof {

struct StopLimits {
    using Duration = std::chrono::nanoseconds;

    // How long threads that would run may stand still until all have stopped; nothing: as long as
    // it takes.
    std::optional<Duration> longest = std::nullopt;
    // With `longest`: how much later the first may stop. One that has no processor loses nothing.
    Duration processor_wait{0};
    // When one that would run stands still, and nobody has stopped for so long, the others are left
    // out: they have no processor, or are busy in the kernel. They execute nothing until they stop,
    // and go on at once when they do. Nothing: all are waited for.
    std::optional<Duration> silence = std::nullopt;
};

// Follows one stop, which begins when the first thread is interrupted.
class StopCourse {
  public:
    using Clock = std::chrono::steady_clock;

    // `is_prompt`: the caller is given a processor at once when a thread has stopped.
    StopCourse(const StopLimits& limits, bool is_prompt, Clock::time_point now);

    // All threads have been interrupted.
    void note_interrupted(Clock::time_point now);
    // Statuses of all threads are asked for now, ...
    void look(Clock::time_point now);
    // ... and one has stopped. `would_run`: it waits for nothing in the kernel.
    void note_stop(bool would_run);

    bool is_over() const;
    // The others are late: StopLimits::silence.
    bool may_leave_out() const;
    // One that would run stands still, but had to be given a processor first: when they were
    // interrupted, none of them had one.
    bool found_none_on_processor() const { return standing_ && *standing_ > interrupted_; }
    // Until the next look, `longest` at most.
    StopLimits::Duration sleep_time(StopLimits::Duration longest) const;
    // From when on a thread stood still that would have run. A thread on a processor stops at once,
    // so that is the first interruption where one had a processor. At the last look where none
    // stands still.
    Clock::time_point began() const;

  private:
    Clock::time_point end() const;
    bool had_processor(Clock::time_point stopped) const;

    StopLimits limits_;
    bool is_prompt_;
    Clock::time_point interrupted_;      // the first
    Clock::time_point all_interrupted_;  // the last
    Clock::time_point last_look_, look_, last_stop_;
    std::optional<Clock::time_point> standing_;
};

}  // namespace shadowprof
