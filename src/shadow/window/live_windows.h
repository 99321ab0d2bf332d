// How long the windows of live samples are (sample_window.h). What such a sample emulates, the
// program executes right after it, in some ten microseconds, and the window is to end amid that.
#pragma once

#include <chrono>
#include <cstdint>

#include "shadow/window/sample_job.h"

namespace shadowprof {

class LiveWindows {
  public:
    std::chrono::nanoseconds length() const { return length_; }
    // To be asked once for each sample that could have one. A window makes a stop half as long
    // again, so few have one: the first, those whose code has no known speed (`wants_speed`), and
    // one in eight of the others, so that the emulation is proven all the time. Where several in a
    // row were not met, only that one in eight has one.
    bool wants_one(bool wants_speed);
    // The time of the thread that goes into the two stops. It is the least that a window had beside
    // what its instructions need at least; before the first, half a second.
    double stop_seconds() const { return stop_seconds_; }
    // A live sample has finished.
    void observe(const SampleReport& report);

  private:
    static double factor(const SampleReport& report);

    std::chrono::nanoseconds length_ = std::chrono::microseconds(40);
    double stop_seconds_ = 0.5;
    unsigned not_met_ = 0;  // in a row
    std::uint64_t samples_ = 0;
};

}  // namespace shadowprof
