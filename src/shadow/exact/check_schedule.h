// When intervals of exact runs are checked (interval_check.h), so that a share of the time goes
// into that.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

namespace shadowprof {

class CheckSchedule {
  public:
    using Clock = std::chrono::steady_clock;

    // `share`: of the time; 0: nothing is checked. The more, the sooner the first check comes.
    CheckSchedule(double share, std::uint64_t seed)
        : share_(share),
          random_(seed),
          due_(share > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              (1 - share) * time_before_checks)
                         : Clock::time_point::max()) {}

    bool is_due() const { return Clock::now() >= due_; }
    Clock::time_point due() const { return due_; }
    // A check took so long. The next one comes at random, so that nothing that a program does in a
    // rhythm is always left out.
    void spent(Clock::duration cost) {
        const double wait = 2 * std::generate_canonical<double, 53>(random_);
        due_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(wait * cost / share_);
    }
    // How long the next interval is, in words of the trace, if it is a part of a turn.
    std::size_t words(std::size_t of_record) {
        const double exponent = std::generate_canonical<double, 53>(random_);
        return of_record *
               static_cast<std::size_t>(least_records * std::exp2(doublings * exponent));
    }
    // None could be made now.
    void put_off() { due_ = Clock::now() + time_without_checks; }

  private:
    // Programs that end sooner are not held up.
    static constexpr std::chrono::milliseconds time_before_checks{100};
    static constexpr std::chrono::seconds time_without_checks{1};

    // In the midst of the program's code, the end of an interval has to be told from all places
    // where the program comes by the same instruction, at 10 to 20 µs each.
    static constexpr double least_records = 4, doublings = 6;

    double share_;
    std::mt19937_64 random_;
    Clock::time_point due_;
};

}  // namespace shadowprof
