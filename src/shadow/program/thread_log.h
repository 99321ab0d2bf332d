// Lists the threads of a run, with their begins and ends, for its timeline. Its memory is bounded,
// however many threads come and go.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "profile/timeline.h"
#include "ptrace/thread/thread_lives.h"

namespace shadowprof {

class ThreadLog {
  public:
    using Clock = std::chrono::steady_clock;
    using Names = std::map<pid_t, std::string>;  // by thread

    explicit ThreadLog(Clock::time_point start) : start_(start) {}

    // The threads of a process. Those that have not ended end at `end`.
    void add(pid_t pid, std::span<const ThreadLife> lives, Clock::time_point end,
             const Names& names = {});
    // Threads that are not listed one by one.
    void add_left_out(std::uint64_t threads) { left_out_ += threads; }

    // Adds the threads to a timeline. Those that are there already are the same by their ids.
    void fill(Timeline& timeline) const;

  private:
    std::uint64_t us_until(Clock::time_point at) const;

    Clock::time_point start_;
    std::vector<TimelineThread> threads_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
