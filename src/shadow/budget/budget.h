// What the target may be slowed by: a share of its time, earned as time passes.
#pragma once

#include <chrono>
#include <optional>

namespace shadowprof {

class Budget {
  public:
    using Clock = std::chrono::steady_clock;

    // `percent` of the time that the target would need alone; more than 0.
    explicit Budget(double percent) : share_(share_of(percent)) {}

    // Nothing is owed for what was spent before.
    void begin(Clock::time_point now, double spent_seconds = 0) {
        last_ = now;
        earned_seconds_ = spent_seconds;
    }
    // The target begins at the same time, and may be over soon: in its first second it may be
    // slowed by five times as much, but not by more than 50 ms for that. Half of what is earned
    // later makes up for it, so that a run of 10 seconds or more is within the budget.
    void allow_more_at_first();
    // From the last pass() on it is so many percent. What was earned by then stays.
    void change(double percent) { share_ = share_of(percent); }
    // Time has passed in which so many processes ran: a cost slows only one of them. Of what is not
    // spent, little is kept: what a target could have been slowed by while it slept, or while
    // sampling was off, is not made up for later.
    void pass(Clock::time_point now, double spent_seconds, double processes = 1);

    // The share of the time that the target takes with us.
    double share() const { return share_; }
    // When `cost_seconds` in all will be within it, if one process runs from now on; a moment that
    // has passed if they are already.
    Clock::time_point when_within(double cost_seconds) const;
    // In so much time that has passed, so much was spent that is spent without samples, too. It
    // takes half of what was earned at most: whoever pays for being followed is to have samples for
    // it, even if that is more than the budget. Answers what is beyond.
    double write_off(double standing_seconds, double passed_seconds);
    // So much was spent from one look whether a sample is within it to the next, with no sample in
    // between: looking takes time, too, and so does the kernel's clock.
    void on_look(double seconds);
    // When a sample that costs `cost_seconds` will be within it, beside what is spent already and
    // what the next look will find spent; nothing: it is. Without the latter, the price of looks
    // would be all that a scarce budget is ever spent on.
    std::optional<Clock::time_point> too_dear_until(double spent_seconds, double cost_seconds,
                                                    Clock::time_point now) const;

  private:
    // Until `end`, and what has come of it that is not made up for yet.
    struct FirstStretch {
        Clock::time_point end;
        double share = 0;  // of the time, beside the usual one
        double owed_seconds = 0;
    };

    double later_rate() const;
    static double share_of(double percent) { return percent / 100 / (1 + percent / 100); }

    // What may be spent before it is earned: a program that soon ends is to have a sample. It is
    // an advance, so later a run is within its budget again.
    static constexpr double advance_seconds = 0.001;
    // Enough for the dearest sample that is ever tried.
    static constexpr double most_saved_seconds = 0.05;

    double share_;
    Clock::time_point last_;
    double earned_seconds_ = 0;
    double look_seconds_ = 0;  // smoothed
    FirstStretch first_;
};

}  // namespace shadowprof
