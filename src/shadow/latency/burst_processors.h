// Which processor works on a latency burst, so that the target's caches stay as they are.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace shadowprof {

// While it lives, the calling thread and a worker process run on one processor that is not `busy`,
// both on the same: they take turns, and waking up each other is cheap there. Where there is no
// other, nothing changes.
class BurstProcessors {
  public:
    // `worker` 0: there is none.
    BurstProcessors(int busy, pid_t worker);
    ~BurstProcessors();
    BurstProcessors(const BurstProcessors&) = delete;
    BurstProcessors& operator=(const BurstProcessors&) = delete;

  private:
    cpu_set_t before_;
    bool moved_ = false;
};

}  // namespace shadowprof
