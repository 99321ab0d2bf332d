// How long a stop of a target may take, and when it begins to cost the target time.
#pragma once

#include <chrono>
#include <optional>

namespace shadowprof {

struct StopLimits {
    using Duration = std::chrono::nanoseconds;

    // How long runnable threads may stand still until all have stopped. Without a value there is no
    // limit.
    std::optional<Duration> longest = std::nullopt;
    // With `longest`: how much later the first thread may stop. A thread without a processor loses
    // nothing.
    Duration processor_wait{0};
    // If a runnable thread stands still and none has stopped for this long, the others are left
    // out. They have no processor, or are busy in the kernel. They execute nothing until they stop,
    // and then go on at once. Without a value, all threads are waited for.
    std::optional<Duration> silence = std::nullopt;
};

// Follows one stop, which begins when the first thread is interrupted.
class StopCourse {
  public:
    using Clock = std::chrono::steady_clock;

    // `is_prompt`: the caller gets a processor at once when a thread has stopped.
    StopCourse(const StopLimits& limits, bool is_prompt, Clock::time_point now);

    // Reports that all threads have been interrupted.
    void note_interrupted(Clock::time_point now);
    // Reports that the statuses of all threads are read now, ...
    void observe(Clock::time_point now);
    // ... and that one has stopped. `would_run`: it waits for nothing in the kernel.
    void note_stop(bool would_run);

    bool is_over() const;
    // Whether the other threads are late: StopLimits::silence.
    bool may_leave_out() const;
    // Whether a runnable thread stands still but first had to be given a processor: none had one
    // when they were interrupted.
    bool found_none_on_processor() const { return standing_ && *standing_ > interrupted_; }
    // The time until the next observation, at most `longest`.
    StopLimits::Duration sleep_time(StopLimits::Duration longest) const;
    // Since when a runnable thread has stood still. A thread on a processor stops at once, so this
    // is the first interruption if one had a processor. If none stands still, the last observation
    // counts instead.
    Clock::time_point began() const;

  private:
    Clock::time_point end() const;
    bool had_processor(Clock::time_point stopped) const;

    StopLimits limits_;
    bool is_prompt_;
    Clock::time_point interrupted_;      // time of the first interruption
    Clock::time_point all_interrupted_;  // time of the last interruption
    Clock::time_point last_observation_, observed_at_, last_stop_;
    std::optional<Clock::time_point> standing_;
};

}  // namespace shadowprof
