// How long the windows of samples by time are (sample_window.h). The program pays for a fork once,
// so a longer window sees more for the same price. Its emulation takes a processor, which is free
// if one idles, and is taken from the program if all are busy. Replicas with long windows live
// long, so there are fewer. A program may be over soon, so it has many samples in its first second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace shadowprof {

class WindowLength {
  public:
    using Clock = std::chrono::steady_clock;

    struct Limits {
        std::chrono::nanoseconds shortest{0}, longest{0};
    };
    // Windows have the shortest length in the first second after the first observe(). The limits
    // may be the same. `max_processors`: how many samples may take.
    WindowLength(const Limits& limits, double max_processors);

    // The shortest window of any sample.
    std::chrono::nanoseconds value() const { return value_; }
    // The window of a sample that costs the program `cost_seconds`: as long as that, but at least
    // value() and at most twice the longest, also in the first second. Expensive samples are few,
    // and CpuBudget limits what their emulation takes. If processors are needed, or nothing was
    // observed, it is value().
    std::chrono::nanoseconds worth(double cost_seconds) const;
    // `ours_ns`: processor time of this process and the workers until now. `waited_seconds`: the
    // most that a process has waited for it since the last call (ProcessorTheft).
    void observe(Clock::time_point now, std::uint64_t ours_ns, double waited_seconds);

  private:
    struct Observation {
        Clock::time_point time;
        std::uint64_t ours_ns = 0;
    };

    Limits limits_;
    double max_processors_;
    std::chrono::nanoseconds value_;
    std::optional<Observation> last_;
    Clock::time_point grows_from_;
    // Smoothed, per second.
    double ours_seconds_ = 0, waited_seconds_ = 0;
    bool is_needed_ = false;  // the program needs our processor, or we take too much
};

}  // namespace shadowprof
