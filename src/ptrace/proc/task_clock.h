// The kernel's clock of one thread's processor time (perf_event_open(2), PERF_COUNT_SW_TASK_CLOCK).
// Each time that the thread has used up a period, the kernel records where the thread is. This
// needs no hardware counter, and the thread does not stop.
//
// Only ticks in the thread's own code are recorded, not those during system calls and faults. The
// ticks of a long instruction are recorded at the next instruction.
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
    // Threads and processes that the thread starts do not inherit the clock, so that they cost
    // nothing. Errors: gone; permission: the kernel's settings (perf_event_paranoid above 2), a
    // container's filter or the limit of locked memory forbid it; unsupported; system.
    static Result<TaskClock> open(pid_t thread, std::chrono::nanoseconds period);

    TaskClock(TaskClock&&) = default;
    TaskClock& operator=(TaskClock&&) = default;

    // Calls `on_tick` with the address of the next instruction for each tick since the last call.
    // The kernel keeps at most ticks_held() ticks between two calls.
    void take(const std::function<void(GuestAddress)>& on_tick);
    static std::size_t ticks_held();
    // The number of ticks that were dropped for lack of room.
    std::uint64_t lost() const { return lost_; }

  private:
    // The mapped pages that the kernel writes to.
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
