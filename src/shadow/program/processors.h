// Chooses processors for shadowprof itself while a target runs.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string_view>

#include "base/urgency.h"

namespace shadowprof {

// The processor where one of the process's threads runs, or ran last; nothing if that is unknown,
// or the threads are too many to be looked through.
std::optional<int> processor_of(pid_t pid);

// Reads a list such as "0,4" or "0-1" (thread_siblings_list), up to the first part that is
// malformed.
cpu_set_t listed_processors(std::string_view list);

// Processors of the same core, including `processor`, from sysfs; empty if that is not known.
cpu_set_t siblings_of(int processor);

// Returns a processor of `allowed` that shares no core with `busy`, else any but `busy`, or nothing
// if there is none. `siblings` are those of `busy`.
std::optional<int> other_processor(const cpu_set_t& allowed, int busy, const cpu_set_t& siblings);

// Returns the processors of `allowed` that are neither in `busy` nor in `siblings`. If there are
// none, those not in `busy`; if there are none either, all.
cpu_set_t processors_left(const cpu_set_t& allowed, const cpu_set_t& busy,
                          const cpu_set_t& siblings);

// Keeps our threads and workers off processors that the target runs on: a thread that is woken up
// where we run waits for us, often for milliseconds, though another processor is idle.
class OwnProcessors {
  public:
    OwnProcessors();
    // Releases the processors.
    ~OwnProcessors();
    OwnProcessors(const OwnProcessors&) = delete;
    OwnProcessors& operator=(const OwnProcessors&) = delete;

    // Keeps all threads of this process and these `workers` off `busy` from now on. Errors are
    // ignored.
    void avoid(const cpu_set_t& busy, std::span<const pid_t> workers);
    // Keeps them off the processors that the process's threads run on. If it has very many threads,
    // nothing is avoided. If all sleep, nothing changes, as they will wake up where they were.
    void keep_off(pid_t pid, std::span<const pid_t> workers);

    // While it lives, the calling thread stays on this processor, if there is one. It gets it as
    // soon as it wakes up, if the kernel lets it. `processors` must outlive it.
    class Visit {
      public:
        Visit(const OwnProcessors& processors, std::optional<int> processor);
        ~Visit();
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;

        bool has_moved() const { return has_moved_; }

      private:
        const OwnProcessors& processors_;
        bool has_moved_ = false;
        Urgency urgency_;
    };
    // Lets all threads of this process run again where they could at first. avoid() may be called
    // again.
    void release();
    // Moves all threads of this process, and the workers, to where they were before a visit.
    // Threads that were born in the visit inherited its processor.
    void go_back(std::span<const pid_t> workers) { use(used_, workers); }

  private:
    void use(const cpu_set_t& set, std::span<const pid_t> workers);

    cpu_set_t allowed_, avoided_, used_;
    bool is_known_ = false;
};

}  // namespace shadowprof
