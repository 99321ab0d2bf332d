// Keeps this thread and some others on one processor while they work in turns: to wake a thread on
// another processor takes ten times as long.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace shadowprof {

class OneProcessor {
  public:
    // Puts this thread and `others` on the processor that this one is on. Has no effect if there is
    // only one, or if some of them may not use it.
    explicit OneProcessor(std::initializer_list<pid_t> others);
    OneProcessor(const OneProcessor&) = delete;
    OneProcessor& operator=(const OneProcessor&) = delete;
    // Gives each thread that is still there its own processors back.
    ~OneProcessor();

    // Lets another thread take part.
    void add(pid_t thread);
    // Gives a thread its own processors back.
    void remove(pid_t thread);

  private:
    int processor_;  // -1: not known
    std::vector<std::pair<pid_t, cpu_set_t>> before_;
};

}  // namespace shadowprof
