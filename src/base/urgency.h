// A thread of ours that is given a processor at once, whatever else wants one: while a target
// stands still and waits for it.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace shadowprof {

// From construction to the end of its life. A thread that has a priority of its own already keeps
// that; so does every thread where the kernel refuses. Processes that are born of it meanwhile are
// scheduled as usual.
class Urgency {
  public:
    // `tid` is of one of our threads, or of the only one of a process of ours; 0: the calling one,
    // which comes before all others: it must be able to end what they do.
    explicit Urgency(pid_t tid = 0);
    Urgency(Urgency&& other) noexcept;
    Urgency& operator=(Urgency&&) = delete;
    ~Urgency();

    bool is_granted() const { return is_granted_; }

  private:
    pid_t tid_;
    bool is_granted_ = false;
    int policy_ = SCHED_OTHER;  // before
    sched_param parameters_{};  // the same
};

}  // namespace shadowprof
