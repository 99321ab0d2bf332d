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
    // Threads that have no processor when another that would run stands still already are left out:
    // they execute nothing until they stop, and go on at once when they do.
    bool leaves_out_late = false;
};

// Follows one stop, which begins when the threads are interrupted.
class StopCourse {
  public:
    using Clock = std::chrono::steady_clock;

    // `is_prompt`: the caller is given a processor at once when a thread has stopped.
    StopCourse(const StopLimits& limits, bool is_prompt, Clock::time_point now);

    // Statuses of all threads are asked for now, ...
    void look(Clock::time_point now);
    // ... and one has stopped. `would_run`: it waits for nothing in the kernel.
    void note_stop(bool would_run);

    bool is_over() const;
    // One that would run stands still, and for a while nobody has stopped: the others have no
    // processor, or are busy in the kernel.
    bool may_leave_out() const;
    // Until the next look, `longest` at most.
    StopLimits::Duration sleep_time(StopLimits::Duration longest) const;
    // From when on a thread stood still that would have run. A thread on a processor stops in no
    // time, so for the first that is the interruption. At the last look where there is none.
    Clock::time_point began() const;

  private:
    Clock::time_point end() const;

    StopLimits limits_;
    bool is_prompt_;
    Clock::time_point interrupted_, last_look_, look_, last_stop_;
    std::optional<Clock::time_point> standing_;
};

}  // namespace shadowprof
