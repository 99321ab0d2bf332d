// The kernel's clock of one thread's processor time (perf_event_open(2), PERF_COUNT_SW_TASK_CLOCK):
// each time that the thread has used up a period of it, the kernel notes where the thread is. It
// needs no hardware counter, and no stop of the thread.
//
// Only ticks in the thread's own code are noted: of the time that the kernel takes for its system
// calls and faults there are none. An instruction that takes long has the ticks of its time at the
// one behind it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/result.h"

namespace shadowprof {

class TaskClock {
  public:
    // Threads and processes that the thread starts have none of it, so that they cost nothing.
    // Errors: gone; permission, where the kernel's settings (perf_event_paranoid above 2), a
    // container's filter or the limit of locked memory forbid it; unsupported; system.
    static Result<TaskClock> open(pid_t thread, std::chrono::nanoseconds period);

    TaskClock(TaskClock&&) = default;
    TaskClock& operator=(TaskClock&&) = default;

    // Hands out what was noted since the last call: where the next instruction was at each tick.
    // There is room for as many as ticks_held() between two calls.
    void take(const std::function<void(GuestAddress)>& on_tick);
    static std::size_t ticks_held();
    // Ticks that there was no room for.
    std::uint64_t lost() const { return lost_; }

  private:
    // The pages that the kernel writes to.
    class Ring {
      public:
        explicit Ring(void* pages) : pages_(pages) {}
        Ring(Ring&& other) noexcept : pages_(std::exchange(other.pages_, nullptr)) {}
        Ring& operator=(Ring&& other) noexcept {
            std::swap(pages_, other.pages_);
            return *this;
        }
        ~Ring();
        void* get() const { return pages_; }

      private:
        void* pages_;
    };

    TaskClock(UniqueFd fd, Ring ring) : fd_(std::move(fd)), ring_(std::move(ring)) {}

    UniqueFd fd_;
    Ring ring_;
    std::uint64_t lost_ = 0;
};

}  // namespace shadowprof
