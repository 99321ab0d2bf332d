// Which processor works on a latency burst, so that the target's caches stay as they are.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <string_view>

namespace shadowprof {

// A processor of `allowed` that shares no core with `busy`, else another than `busy`; nothing if
// there is none. `siblings` is the text of busy's thread_siblings_list ("0,4" or "0-1"), or empty.
std::optional<int> other_processor(const cpu_set_t& allowed, int busy, std::string_view siblings);

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
