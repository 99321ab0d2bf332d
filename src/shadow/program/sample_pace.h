// How dense samples are while the number of running processes changes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace shadowprof {

// One sample is of one process. So that each process gets samples for as long as it ran, samples
// are denser the more processes run. So that there are about as many in all, their density is
// relative to the average until now.
class SamplePace {
  public:
    using Clock = std::chrono::steady_clock;

    // To be called when a sample is due and `running` processes run. Returns the factor for the
    // interval to the next sample; 1 if none runs.
    double note(std::size_t running, Clock::time_point now) {
        const std::chrono::duration<double> elapsed = now - std::exchange(last_, now).value_or(now);
        if (running == 0) return 1;
        const auto processes = static_cast<double>(running);
        seconds_ += elapsed.count();
        process_seconds_ += elapsed.count() * processes;
        if (seconds_ == 0) return 1;
        return std::clamp(process_seconds_ / seconds_ / processes, 1 / most, most);
    }

    // The time in which something ran, multiplied by the number of running processes.
    double process_seconds() const { return process_seconds_; }

  private:
    static constexpr double most = 4;

    std::optional<Clock::time_point> last_;
    double seconds_ = 0;  // the time in which something ran
    double process_seconds_ = 0;
};

}  // namespace shadowprof
