// Raises a thread's priority while a target stands still and waits for it.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace shadowprof {

// Raises the priority of a thread of ours from its construction to its destruction. A thread that
// already has a real-time priority keeps it. Where the kernel refuses a real-time priority,
// is_granted() tells, and the thread has a short time slice instead, which needs no privilege.
// Processes that the thread forks meanwhile are scheduled as usual.
class Urgency {
  public:
    // `tid` is one of our threads, or the only thread of a process of ours. 0 stands for the
    // calling thread, which gets a higher priority than the others: it must be able to end what
    // they do.
    explicit Urgency(pid_t tid = 0);
    Urgency(Urgency&& other) noexcept;
    Urgency& operator=(Urgency&&) = delete;
    ~Urgency();

    bool is_granted() const { return is_granted_; }

  private:
    pid_t tid_;
    bool is_granted_ = false;
    std::optional<std::uint64_t> slice_before_ns_;  // set if it was changed
    int policy_ = SCHED_OTHER;                      // before construction
    sched_param parameters_{};                      // before construction
};

}  // namespace shadowprof
