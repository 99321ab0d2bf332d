// When the next sample starts: at random moments, so many that on average `load` replicas live;
// twice as many during the first 32 samples.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace shadowprof {

class SampleSchedule {
  public:
    using Clock = std::chrono::steady_clock;

    // If `bounds_cost`, samples after the first 24 keep so far apart that they cost the target
    // about 1%. Nothing is due before begin().
    SampleSchedule(double load, bool bounds_cost, std::uint64_t seed);

    // The first sample is due at a random moment soon after `start`.
    void begin(Clock::time_point start);

    Clock::time_point next_start() const { return next_start_; }
    // A sample was started, or was due and could not be taken.
    void on_start(Clock::time_point now);
    // A sample was due, but a moment later will do.
    void soon(Clock::time_point now);
    // A replica lived for so long.
    void on_end(Clock::duration lifetime);
    // A sample cost the target so long: its pause and the faults that followed.
    void on_cost(Clock::duration cost);
    // The program cannot be sampled now: try again, each time later.
    void on_refusal(Clock::time_point now);

    // How many replicas may live at once: one more than the load asks for.
    std::size_t max_active() const { return max_active_; }

  private:
    double jitter();

    double load_;
    std::size_t max_active_;
    std::mt19937_64 random_;
    bool bounds_cost_;
    double lifetime_seconds_;  // smoothed
    double cost_seconds_ = 0;  // of one sample, smoothed
    unsigned refusals_ = 0;
    unsigned starts_ = 0;
    Clock::time_point next_start_ = Clock::time_point::max();
};

}  // namespace shadowprof
