// Decides when the next sample starts, and how much of the run it stands for.
//
// Samples start at random moments, as many as a load asks for, or as their cost allows. A sample
// that was taken at a lower rate stands for more of the run. Each has a weight for that, so that
// what is seen of the program does not depend on when samples were cheap.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

namespace shadowprof {

class SampleSchedule {
  public:
    using Clock = std::chrono::steady_clock;

    struct Pace {
        double load = 1;  // average number of replicas that live
        // The share of the target's time that samples may cost it; none: only the load counts.
        std::optional<double> cost_share;
        // The mean time between samples, whatever they cost.
        std::optional<std::chrono::duration<double>> period;
    };

    SampleSchedule(const Pace& pace, std::uint64_t seed);

    // Takes effect from the next interval on.
    void set_load(double load);
    void set_cost_share(std::optional<double> share) { pace_.cost_share = share; }

    // The first sample is due at a random moment soon after `start`, and none before.
    void begin(Clock::time_point start);

    Clock::time_point next_start() const { return next_start_; }

    // What determines the next interval, besides what the schedule knows already.
    struct Outlook {
        double cost_seconds = 0;   // expected for one sample
        bool follows_load = true;  // SampleSource::follows_load()
        double stretch = 1;        // factor for the interval
    };
    // To be called when a sample was taken, or when one was due and the target did not run.
    // `ahead`: costs are so far below their limit that samples may be denser for a while.
    void on_sample(Clock::time_point now, const Outlook& outlook, bool ahead);
    // To be called when a due sample could not be taken. The next one stands for its time, too.
    void on_miss(Clock::time_point now);
    // To be called when a sample came to nothing. The next one stands for its time, too.
    void on_loss(double stands_for_seconds) { stands_for_seconds_ += stands_for_seconds; }
    // To be called when a due sample must not be taken before `until`.
    void postpone(Clock::time_point now, Clock::time_point until);
    // To be called when a due sample can be taken a moment later.
    void soon(Clock::time_point now);
    // To be called when a replica has ended.
    void on_end(Clock::duration lifetime);
    // To be called when the program cannot be sampled now. Tries again, later each time.
    void on_refusal(Clock::time_point now);

    // How much of the run the due sample stands for, in units of `weight_unit`: the mean of its
    // interval, and what was missed. At least 1.
    std::uint32_t weight() const;
    static constexpr std::chrono::duration<double> weight_unit{20e-6};

    // The most replicas that may live at once: one more than the load asks for.
    std::size_t max_active() const { return max_active_; }

  private:
    double jitter();
    double interval_seconds(const Outlook& outlook, bool ahead) const;
    void plan(Clock::time_point now, double mean_seconds);

    Pace pace_;
    std::size_t max_active_;
    std::mt19937_64 random_;
    double lifetime_seconds_;  // smoothed
    double mean_seconds_ = 0;  // mean of the current interval
    double stands_for_seconds_ = 0;
    unsigned ends_ = 0;  // how many replicas have ended
    unsigned refusals_ = 0;
    Clock::time_point next_start_ = Clock::time_point::max();
};

}  // namespace shadowprof
