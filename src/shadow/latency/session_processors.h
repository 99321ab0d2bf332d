// Chooses the processor for work on a latency session, so that the target's caches stay as they
// are.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace shadowprof {

// While it lives, the calling thread and a worker process run on the same processor, which is not
// `busy`. They take turns, and waking each other up is cheap there. If there is no other processor,
// nothing changes.
class SessionProcessors {
  public:
    // `worker`: 0 if there is none.
    SessionProcessors(int busy, pid_t worker);
    ~SessionProcessors();
    bool has_moved() const { return moved_; }
    SessionProcessors(const SessionProcessors&) = delete;
    SessionProcessors& operator=(const SessionProcessors&) = delete;

  private:
    cpu_set_t before_;
    bool moved_ = false;
};

}  // namespace shadowprof
