// When the threads of a process began and ended, as far as they were followed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace shadowprof {

struct ThreadLife {
    using Clock = std::chrono::steady_clock;

    pid_t tid = 0;
    Clock::time_point began;                 // or when it was first followed
    std::optional<Clock::time_point> ended;  // or when it was let go; nothing: it goes on
};

// The threads of a process that have ended. A server may start one for each request, so only so
// many are kept.
class EndedThreads {
  public:
    static constexpr std::size_t most = 1024;

    void add(const ThreadLife& life) {
        if (lives_.size() < most)
            lives_.push_back(life);
        else
            ++left_out_;
    }
    const std::vector<ThreadLife>& list() const { return lives_; }
    std::uint64_t left_out() const { return left_out_; }

  private:
    std::vector<ThreadLife> lives_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
