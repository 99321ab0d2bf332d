// Which processors are left for shadowprof itself while a target runs.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string_view>

#include "base/urgency.h"

namespace shadowprof {

// Reads a list as in thread_siblings_list, "0,4" or "0-1", up to the first part that is none.
cpu_set_t listed_processors(std::string_view list);

// Those of the same core, itself among them, by sysfs; empty if that is not known.
cpu_set_t siblings_of(int processor);

// A processor of `allowed` that shares no core with `busy`, else another than `busy`; nothing if
// there is none. `siblings` are busy's.
std::optional<int> other_processor(const cpu_set_t& allowed, int busy, const cpu_set_t& siblings);

// Those of `allowed` that are neither busy nor siblings of such, or if there are none, that are not
// busy; all of them if all are busy.
cpu_set_t processors_left(const cpu_set_t& allowed, const cpu_set_t& busy,
                          const cpu_set_t& siblings);

// Keeps our threads and workers off processors that the target runs on: a thread that is woken up
// where we run waits for us, often for milliseconds, though another processor is idle.
class OwnProcessors {
  public:
    OwnProcessors();
    // Releases them.
    ~OwnProcessors();
    OwnProcessors(const OwnProcessors&) = delete;
    OwnProcessors& operator=(const OwnProcessors&) = delete;

    // From now on, for all threads of this process and these `workers`. What does not work is left
    // as it is.
    void avoid(const cpu_set_t& busy, std::span<const pid_t> workers);
    // The same for those that the process's threads run on; where these are very many, none. One
    // that sleeps will wake up where it was: nothing changes.
    void keep_off(pid_t pid, std::span<const pid_t> workers);

    // While it lives, the calling thread is on the processor that a process runs on, or ran on
    // last, and is given it at once when it wakes up, if the kernel lets it. The processors must
    // outlive it.
    class Meeting {
      public:
        Meeting(const OwnProcessors& processors, pid_t pid);
        ~Meeting();
        Meeting(const Meeting&) = delete;
        Meeting& operator=(const Meeting&) = delete;

        bool has_moved() const { return has_moved_; }

      private:
        const OwnProcessors& processors_;
        bool has_moved_ = false;
        Urgency urgency_;
    };
    // All threads of this process may run again where they could before. It may be told what to
    // avoid again.
    void release();
    // All threads of this process, and the workers, are where they were before a meeting. Those
    // that were born in it inherited its processor.
    void go_back(std::span<const pid_t> workers) { use(used_, workers); }

  private:
    void use(const cpu_set_t& set, std::span<const pid_t> workers);

    cpu_set_t allowed_, avoided_, used_;
    bool is_known_ = false;
};

}  // namespace shadowprof
