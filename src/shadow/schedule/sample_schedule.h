// When the next sample starts, and how much of the run it stands for.
//
// Samples start at random moments: as many as a load asks for, or as their cost allows. Where that
// changes, a sample that was taken at a lower rate stands for more of the run: so that what is seen
// of the program does not depend on when samples were cheap, each has a weight.
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
        // The share of the target's time that samples may cost it; none: the load alone counts.
        std::optional<double> cost_share;
        // One sample in each, whatever it costs.
        std::optional<std::chrono::duration<double>> period;
    };

    SampleSchedule(const Pace& pace, std::uint64_t seed);

    // From the next interval on.
    void set_load(double load);
    void set_cost_share(std::optional<double> share) { pace_.cost_share = share; }

    // The first sample is due at a random moment soon after `start`. Nothing is before.
    void begin(Clock::time_point start);

    Clock::time_point next_start() const { return next_start_; }

    // What the next interval follows from, besides what the schedule was told before.
    struct Outlook {
        double cost_seconds = 0;   // of one sample
        bool follows_load = true;  // SampleSource::follows_load()
        double stretch = 1;        // times the interval
    };
    // A sample was taken, or the target did not run when it was due. `ahead`: costs are so far
    // below what they may be that samples may be denser for a while.
    void on_sample(Clock::time_point now, const Outlook& outlook, bool ahead);
    // A sample was due, and nobody could take it: the next one stands for its time, too.
    void on_miss(Clock::time_point now);
    // A sample that was begun came to nothing: the next one stands for its time, too.
    void on_loss(double stands_for_seconds) { stands_for_seconds_ += stands_for_seconds; }
    // A sample was due, but is not to be taken before `until`.
    void postpone(Clock::time_point now, Clock::time_point until);
    // A sample was due, but a moment later will do.
    void soon(Clock::time_point now);
    // A replica lived for so long.
    void on_end(Clock::duration lifetime);
    // The program cannot be sampled now: try again, each time later.
    void on_refusal(Clock::time_point now);

    // How much of the run, in units of `weight_unit`, the sample that is due stands for: the mean
    // of the interval that a moment was chosen from, and what was missed. At least 1.
    std::uint32_t weight() const;
    static constexpr std::chrono::duration<double> weight_unit{20e-6};

    // How many replicas may live at once: one more than the load asks for.
    std::size_t max_active() const { return max_active_; }

  private:
    double jitter();
    double interval_seconds(const Outlook& outlook, bool ahead) const;
    void plan(Clock::time_point now, double mean_seconds);

    Pace pace_;
    std::size_t max_active_;
    std::mt19937_64 random_;
    double lifetime_seconds_;  // smoothed
    double mean_seconds_ = 0;  // of the current interval
    double stands_for_seconds_ = 0;
    unsigned ends_ = 0;  // of samples
    unsigned refusals_ = 0;
    Clock::time_point next_start_ = Clock::time_point::max();
};

}  // namespace shadowprof
