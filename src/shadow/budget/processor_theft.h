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
    // Of late, most of what we ran beside the target may have been at its expense: there is hardly
    // a processor that it has no use for.
    bool is_contended() const { return 2 * taken_ns_ > beside_ns_; }

  private:
    struct Look {
        Clock::time_point time;
        RunTimes times;
        std::uint64_t ours_ns, stopped_ns;
    };
    std::optional<Look> last_;
    // What we ran beside it, and how much of that may have been at its expense: recent times count
    // most.
    double beside_ns_ = 0, taken_ns_ = 0;
};

}  // namespace shadowprof
