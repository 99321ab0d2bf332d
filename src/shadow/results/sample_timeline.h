// The samples of a run in time. Bounded: see timeline_stride().
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "profile/profile.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

class SampleTimeline {
  public:
    using Clock = std::chrono::steady_clock;

    void begin(Clock::time_point start) { start_ = start; }
    // Adds a finished sample. `phase` numbers what the program did in it.
    void add(const SampleReport& report, std::size_t phase);

    // Sets the profile's timeline. Names of threads are those in the profile.
    void fill(Profile& profile) const;

  private:
    struct Sample {
        TimelineSample listed;  // without its thread
        pid_t pid = 0, tid = 0;
    };

    Clock::time_point start_;
    std::vector<Sample> samples_;
    std::uint64_t stride_ = 1;
};

}  // namespace shadowprof
