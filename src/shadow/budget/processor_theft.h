// How long a target waited for processors that we had: nothing on a machine with enough of them.
//
// The kernel counts how long threads wait for a processor, and not for whom. In stretches in which
// we hardly ran, they waited for others: that is what is usual. In a stretch in which we ran, what
// they waited beyond that was for us, and never more than we ran. What we run in quiet stretches is
// taken to be waited for in the same proportion.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// From /proc/PID/task/TID/schedstat, of all threads of a process.
struct RunTimes {
    std::uint64_t run_ns = 0;
    std::uint64_t delay_ns = 0;  // ready to run, and waiting for a processor

    // Adds what a thread's text says. ErrorCode::invalid where it says nothing.
    Result<void> add(std::string_view text);
};

// Error `gone` where the process is, `unsupported` where the kernel does not count.
Result<RunTimes> read_run_times(pid_t pid);

class ProcessorTheft {
  public:
    using Clock = std::chrono::steady_clock;

    // `times`: of the target until now; `ours_ns`: processor time of shadowprof until now;
    // `stopped_ns`: how long the target stood still until now, while one of our processes ran. By
    // how much the target came later for what we ran beside it since the last call, in seconds. As
    // long as it is not known what is usual, and lately was not known of other stretches, that is
    // the upper bound: as long as threads waited and we ran. Threads that wait at the same time
    // lose that time once.
    double observe(Clock::time_point now, const RunTimes& times, std::uint64_t ours_ns,
                   std::uint64_t stopped_ns = 0);
    // The target's threads waited for a processor, for whomever, for more than half of the time
    // that we ran beside it. Recent times count most.
    bool is_contended() const { return 2 * waited_ns_ > beside_ns_; }

  private:
    struct Look {
        Clock::time_point time;
        RunTimes times;
        std::uint64_t ours_ns, stopped_ns;
    };
    // Between two looks.
    struct Stretch {
        double passed_ns, run_ns, delay_ns;
        double beside_ns;  // that we ran while the target did not stand still

        // The target cannot have waited longer for us.
        double most_ns() const { return std::min(delay_ns, beside_ns); }
        // We hardly ran, so that what the target waited was for others.
        bool is_quiet() const { return beside_ns <= quiet_share * passed_ns; }
    };
    static constexpr double quiet_share = 0.02;

    Stretch since_last(const Look& before, const Look& now) const;
    // What is usual fades as time passes, and is learnt in quiet stretches.
    void forget(const Stretch& stretch);
    void learn(const Stretch& quiet, double taken_ns);
    // What the target waited for us in a stretch.
    double taken_ns(const Stretch& stretch);
    double taken_in_quiet_ns(const Stretch& quiet) const;

    std::optional<Look> last_;
    // All fade from look to look.
    double beside_ns_ = 0;
    double waited_ns_ = 0;                      // Stretch::most_ns()
    double quiet_ns_ = 0, quiet_delay_ns_ = 0;  // of quiet stretches: time, and what was waited
    // By how much less than usual was waited in stretches before: of two that we ran in, one may
    // have more than usual by chance, and another less.
    double spared_ns_ = 0;
    // Other stretches are compared with what is usual. In these we ran beside the target for so
    // long, and it waited so long for us.
    double compared_ns_ = 0, taken_of_compared_ns_ = 0;
};

}  // namespace shadowprof
