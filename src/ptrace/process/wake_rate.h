// How often a thread wakes up. It is not worth waking a thread that seldom does for a sample.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace shadowprof {

class WakeRate {
  public:
    using Clock = std::chrono::steady_clock;

    // `runs` is how often the thread was given a processor until `now` (ThreadRuns::runs).
    void observe(Clock::time_point now, std::uint64_t runs) {
        if (!begin_ || now - begin_->time > longest_watch) {
            rate_.reset();
            begin(now, runs);
            return;
        }
        const auto watched = now - begin_->time;
        if (watched < shortest_watch) return;
        const std::chrono::duration<double> seconds = watched;
        const auto by_itself = std::max(runs, begin_->runs + by_stops_) - begin_->runs - by_stops_;
        rate_ = static_cast<double>(by_itself) / seconds.count();
        if (watched >= watch) begin(now, runs);
    }

    // Notes a stop. A sleeping thread gets a processor twice: to stop, and then to fall asleep.
    void note_stop(bool slept) { by_stops_ += slept ? 2 : 1; }

    // Whether few of its wake-ups fall within a sample: at most into one in seven of 6 ms, the
    // longest window. False until the thread was watched for 0.1 s, and after a gap of more than 5
    // s.
    bool is_seldom() const { return rate_ && *rate_ <= max_a_second; }

  private:
    static constexpr auto shortest_watch = std::chrono::milliseconds(100);
    static constexpr auto watch = std::chrono::seconds(1);
    static constexpr auto longest_watch = std::chrono::seconds(5);  // the rate may have changed
    static constexpr double max_a_second = 25;

    struct Observation {
        Clock::time_point time;
        std::uint64_t runs;
    };

    void begin(Clock::time_point now, std::uint64_t runs) {
        begin_ = Observation{now, runs};
        by_stops_ = 0;
    }

    std::optional<Observation> begin_;
    std::uint64_t by_stops_ = 0;  // since `begin_`
    std::optional<double> rate_;  // wake-ups per second
};

}  // namespace shadowprof
