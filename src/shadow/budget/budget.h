// How much the target may be slowed: a share of its time, which is earned as time passes.
#pragma once

#include <chrono>
#include <optional>

namespace shadowprof {

class Budget {
  public:
    using Clock = std::chrono::steady_clock;

    // `percent` of the time that the target would need alone; must be above 0.
    explicit Budget(double percent) : share_(share_of(percent)) {}

    // Begins at `now`. What was spent before does not count.
    void begin(Clock::time_point now, double spent_seconds = 0) {
        last_ = now;
        earned_seconds_ = spent_seconds;
    }
    // To be called if the target begins at the same time, as it may be over soon. In its first
    // second it may be slowed by five times as much, but not by more than 50 ms for that. Half of
    // what is earned later pays this back, so that a run of 10 seconds or more is within the
    // budget.
    void allow_more_at_first();
    // Changes the share from the last pass() on. What was earned by then stays.
    void change(double percent) { share_ = share_of(percent); }
    // Earns for the time since the last call, in which `processes` processes ran: a cost slows only
    // one of them. Little of what is not spent is kept, so that time in which the target slept, or
    // sampling was off, is not made up for later.
    void pass(Clock::time_point now, double spent_seconds, double processes = 1);

    // The budget as a share of the time that the target takes when it is profiled.
    double share() const { return share_; }
    // Returns when `cost_seconds` in all will be within the budget, if one process runs from now
    // on. That is at most the time of the last pass() if they already are.
    Clock::time_point when_within(double cost_seconds) const;
    // Writes off what would also be spent without samples: `standing_seconds` in `passed_seconds`.
    // Up to half of what was earned in that time stays charged. The rest does not count, even if it
    // exceeds the budget, so that a process that pays for being followed has samples, too. Returns
    // what was written off.
    double write_off(double standing_seconds, double passed_seconds);
    // What was spent beside samples does not count.
    void forgive(double seconds) { earned_seconds_ += seconds; }
    // Records what was spent between two checks whether a sample is within the budget, with no
    // sample in between. Looking takes time, and so does the kernel's clock.
    void on_observation(double seconds);
    // Returns when a sample of `cost_seconds` will be within the budget, besides what is spent
    // already and what the next observation is expected to cost; nothing: it is now. Without that
    // expectation, observations alone could use up a small budget.
    std::optional<Clock::time_point> too_dear_until(double spent_seconds, double cost_seconds,
                                                    Clock::time_point now) const;

  private:
    // Lasts until `end`. What it spends beyond the usual share is owed until it is paid back.
    struct FirstStretch {
        Clock::time_point end;
        double share = 0;  // share of the time, in addition to the usual one
        double owed_seconds = 0;
    };

    double later_rate() const;
    static double share_of(double percent) { return percent / 100 / (1 + percent / 100); }

    // What may be spent before it is earned, so that a program that soon ends has a sample. It is
    // an advance: later the run is within its budget again.
    static constexpr double advance_seconds = 0.001;
    // Enough for the most expensive sample that is ever tried.
    static constexpr double max_saved_seconds = 0.05;

    double share_;
    Clock::time_point last_;
    double earned_seconds_ = 0;
    double observation_seconds_ = 0;  // smoothed
    FirstStretch first_;
};

}  // namespace shadowprof
