// How long the windows of live samples are (sample_window.h). The program executes what such a
// sample emulates right after it, within tens of microseconds. The window should end amid that.
#pragma once

#include <chrono>
#include <cstdint>

#include "shadow/window/sample_job.h"

namespace shadowprof {

class LiveWindows {
  public:
    std::chrono::nanoseconds length() const { return length_; }
    // Whether a live sample has a window; to be called once for each sample that could have one. A
    // window makes the stop half as long again, so few samples have one: the first ones, those
    // whose code has no known speed (`wants_speed`), and one in eight of the others, so that the
    // emulation is proven all the time. After several windows in a row that were not met, only that
    // one in eight has one.
    bool wants_one(bool wants_speed);
    // The thread's time that goes into the two stops of a window, in seconds: the smallest excess
    // of a window's time over the least that its instructions take. Half a second before the first
    // window that is met.
    double stop_seconds() const { return stop_seconds_; }
    // To be called when a live sample has finished.
    void observe(const SampleReport& report);

  private:
    static double factor(const SampleReport& report);

    std::chrono::nanoseconds length_ = std::chrono::microseconds(40);
    double stop_seconds_ = 0.5;
    unsigned not_met_ = 0;  // windows in a row
    std::uint64_t samples_ = 0;
};

}  // namespace shadowprof
