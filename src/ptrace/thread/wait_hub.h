// The one owner of waitpid. All waits of the process go through one WaitHub, so that no part takes
// a status that another part waits for.
//
// For use by one thread, the one that makes all ptrace calls. SIGCHLD must be blocked in every
// thread and must have its default disposition (see prepare_sigchld): waits sleep until it comes.
// They may consume a pending SIGCHLD; an event loop that sleeps on a signalfd therefore calls
// poll() until it is empty each time before it sleeps, and then misses nothing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <optional>
#include <set>

#include "base/result.h"
#include "ptrace/thread/wait_status.h"

namespace shadowprof {

struct WaitEvent {
    pid_t pid = 0;
    WaitStatus status;
};

// Blocks SIGCHLD for the calling thread and gives it its default disposition. To be called before
// other threads start, after InheritedSignals::capture().
void prepare_sigchld();

class WaitHub {
  public:
    using Duration = std::chrono::nanoseconds;

    WaitHub() = default;
    WaitHub(const WaitHub&) = delete;
    WaitHub& operator=(const WaitHub&) = delete;

    // The oldest status that nobody has taken, or nothing. Never blocks.
    std::optional<WaitEvent> poll();

    // The next status of `pid`, statuses of others being kept for poll(); nothing at the timeout.
    // ErrorCode::gone if it is neither a child nor a tracee of ours.
    Result<std::optional<WaitStatus>> wait_for(pid_t pid, Duration timeout);

    // The next status of `pid`, however long it takes.
    Result<WaitStatus> wait_for(pid_t pid);

    // Sleeps until there may be a new status, of whomever. False: `longest` has passed.
    static bool sleep(Duration longest);

    // A status of `pid` can be had at once. None is taken, from the kernel or from the queue. False
    // also for a process that is not ours.
    bool has_status(pid_t pid) const;

    // Gives a status back, to be found by the next poll() or wait_for().
    void put_back(const WaitEvent& event) { queue_.push_front(event); }

    // Waits for a plain child to end.
    Result<WaitStatus> reap(pid_t child);

    // Nobody wants to know of `pid` any more, a child or tracee that is dying: its statuses are
    // dropped, its end is reaped in passing by later waits. One that is no more was reaped already:
    // its id may be another's by now.
    void discard(pid_t pid);
    // Reaps those of the discarded that have ended.
    void reap_discarded();
    // Processes that were discarded and are not reaped yet.
    std::size_t discarded() const { return discarded_.size(); }

  private:
    std::optional<WaitStatus> take_queued(pid_t pid);
    // True if the event was of a discarded process.
    bool swallow(const WaitEvent& event);

    std::deque<WaitEvent> queue_;
    std::set<pid_t> discarded_;
};

}  // namespace shadowprof
