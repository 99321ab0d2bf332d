// How long a target waited for processors that we had: nothing on a machine with enough of them.
#pragma once

#include <sys/types.h>

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
    // how much the target came later for what we ran beside it since the last call, in seconds: who
    // waits while we run may have waited for somebody else, so this is an upper bound. Its threads
    // that wait at the same time lose that time once.
    double observe(Clock::time_point now, const RunTimes& times, std::uint64_t ours_ns,
                   std::uint64_t stopped_ns = 0);
    // The target's threads waited for a processor for more than half of the time that we ran beside
    // it. Recent times count most.
    bool is_contended() const { return 2 * taken_ns_ > beside_ns_; }

  private:
    struct Look {
        Clock::time_point time;
        RunTimes times;
        std::uint64_t ours_ns, stopped_ns;
    };
    std::optional<Look> last_;
    // Both fade from look to look.
    double beside_ns_ = 0;  // that we ran while the target did not stand still
    double taken_ns_ = 0;   // the part of it in which threads of the target may have waited for us
};

}  // namespace shadowprof
