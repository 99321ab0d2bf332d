// How long the windows of samples by time are (sample_window.h). What a fork costs the program is
// paid once, whatever comes of it: a longer window sees more for it. Its emulation takes a
// processor, which is free where one idles, and is taken from the program where all are busy.
// Replicas with long windows live long, so there are fewer: in its first second a program that may
// be over soon is to have many samples.
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
    // The shortest in the first second after the first observe(). The limits may be the same.
    // `most_processors`: that samples may take.
    WindowLength(const Limits& limits, double most_processors);

    // The least window of any sample.
    std::chrono::nanoseconds value() const { return value_; }
    // The window of a sample that costs the program so much: at least as long as that, and at
    // most twice the longest, also in the first second. Dear samples are few, and CpuBudget limits
    // what their emulation takes. Where processors are needed, or nothing was observed, it is
    // value().
    std::chrono::nanoseconds worth(double cost_seconds) const;
    // `ours_ns`: processor time of this process and the workers until now. `waited_seconds`: what a
    // process has waited for it since the last call, at most (ProcessorTheft).
    void observe(Clock::time_point now, std::uint64_t ours_ns, double waited_seconds);

  private:
    struct Look {
        Clock::time_point time;
        std::uint64_t ours_ns = 0;
    };

    Limits limits_;
    double most_processors_;
    std::chrono::nanoseconds value_;
    std::optional<Look> last_;
    Clock::time_point grows_from_;
    // Smoothed, in a second of time.
    double ours_seconds_ = 0, waited_seconds_ = 0;
    bool is_needed_ = false;  // a processor that we take, or more of it than we may take
};

}  // namespace shadowprof
