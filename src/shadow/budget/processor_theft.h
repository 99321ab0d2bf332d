// Estimates how long a target waited for processors that we had. On a machine with enough of them,
// that is nothing.
//
// The kernel counts how long threads wait for a processor, but not for whom. In stretches in which
// we hardly ran, they waited for others: that waiting is usual. In a stretch in which we ran,
// waiting beyond the usual was for us, but never longer than we ran. Of what we run in quiet
// stretches, the same proportion is taken to be waited for.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// From /proc/PID/task/TID/schedstat, summed over the threads of a process.
struct RunTimes {
    std::uint64_t run_ns = 0;
    std::uint64_t delay_ns = 0;  // ready to run, and waiting for a processor

    // Adds the times in a thread's text. ErrorCode::invalid if there are none.
    Result<void> add(std::string_view text);
};

// Errors: `gone` if the process is, `unsupported` if the kernel does not count.
Result<RunTimes> read_run_times(pid_t pid);

class ProcessorTheft {
  public:
    using Clock = std::chrono::steady_clock;

    // `times`: of the target until now; `ours_ns`: processor time of shadowprof until now;
    // `stopped_ns`: how long the target stood still until now while one of our processes ran.
    // Returns the seconds by which what we ran beside the target since the last call delayed it.
    // While too little is known to compare with, that is the upper bound: as long as threads waited
    // and we ran. Threads that wait at the same time lose that time once.
    double observe(Clock::time_point now, const RunTimes& times, std::uint64_t ours_ns,
                   std::uint64_t stopped_ns = 0);
    // Whether the target's threads waited for a processor, whoever had it, for more than half of
    // the time that we ran beside it. Recent times count most.
    bool is_contended() const { return 2 * waited_ns_ > beside_ns_; }

  private:
    struct Observation {
        Clock::time_point time;
        RunTimes times;
        std::uint64_t ours_ns, stopped_ns;
    };
    // The time between two observations.
    struct Stretch {
        double passed_ns, run_ns, delay_ns;
        double beside_ns;  // our processor time while the target did not stand still

        // The longest that the target can have waited for us.
        double max_ns() const { return std::min(delay_ns, beside_ns); }
        // Whether we hardly ran, so that the target waited for others.
        bool is_quiet() const { return beside_ns <= quiet_share * passed_ns; }
    };
    static constexpr double quiet_share = 0.02;

    Stretch since_last(const Observation& before, const Observation& now) const;
    // What is usual is learned in quiet stretches, and fades as time passes.
    void forget(const Stretch& stretch);
    void learn(const Stretch& quiet, double taken_ns);
    // How long the target waited for us in a stretch.
    double taken_ns(const Stretch& stretch);
    double taken_in_quiet_ns(const Stretch& quiet) const;

    std::optional<Observation> last_;
    // All of these fade from observation to observation.
    double beside_ns_ = 0;
    double waited_ns_ = 0;                      // Stretch::max_ns()
    double quiet_ns_ = 0, quiet_delay_ns_ = 0;  // time of quiet stretches, and waiting in them
    // How much less than usual was waited in earlier stretches. Of two stretches in which we ran,
    // one may have more than usual by chance, and the other less.
    double spared_ns_ = 0;
    // Sums over stretches that were compared with what is usual: how long we ran beside the target,
    // and how long it waited for us.
    double compared_ns_ = 0, taken_of_compared_ns_ = 0;
};

}  // namespace shadowprof
