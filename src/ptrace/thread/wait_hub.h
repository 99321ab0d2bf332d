// The only caller of waitpid. All waits of the process go through one WaitHub, so that no part of
// the program takes a status that another part waits for.
//
// Only the thread that makes all ptrace calls may use it. SIGCHLD must be blocked in every thread
// and have its default disposition (see prepare_sigchld): waits sleep until it arrives. They may
// consume a pending SIGCHLD. An event loop that sleeps on a signalfd must therefore call poll()
// until it is empty before each sleep, and then misses nothing.
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

// Blocks SIGCHLD for the calling thread and gives it its default disposition. Call it before other
// threads start, and after InheritedSignals::capture().
void prepare_sigchld();

class WaitHub {
  public:
    using Duration = std::chrono::nanoseconds;

    WaitHub() = default;
    WaitHub(const WaitHub&) = delete;
    WaitHub& operator=(const WaitHub&) = delete;

    // Returns the oldest status that nobody has taken, or nothing. Never blocks.
    std::optional<WaitEvent> poll();

    // Returns the next status of `pid`, or nothing at the timeout. Keeps statuses of others for
    // poll(). ErrorCode::gone: `pid` is neither our child nor our tracee.
    Result<std::optional<WaitStatus>> wait_for(pid_t pid, Duration timeout);

    // Returns the next status of `pid`, however long it takes.
    Result<WaitStatus> wait_for(pid_t pid);

    // Sleeps until any process may have a new status. Returns false if `longest` has passed.
    static bool sleep(Duration longest);

    // Whether a status of `pid` is available now. Takes none, neither from the kernel nor from the
    // queue. False also for a process that is not ours.
    bool has_status(pid_t pid) const;

    // Gives a status back, so that the next poll() or wait_for() finds it.
    void put_back(const WaitEvent& event) { queue_.push_front(event); }

    // Waits for the end of a plain child.
    Result<WaitStatus> reap(pid_t child);

    // Drops the statuses of `pid`, a child or tracee that is dying. Later waits reap it. If it does
    // not exist any more it was reaped already, and its id may be another process's by now.
    void discard(pid_t pid);
    // Reaps discarded processes that have ended.
    void reap_discarded();
    // The number of discarded processes that are not reaped yet.
    std::size_t discarded() const { return discarded_.size(); }

  private:
    std::optional<WaitStatus> take_queued(pid_t pid);
    // Returns whether the event was of a discarded process.
    bool swallow(const WaitEvent& event);

    std::deque<WaitEvent> queue_;
    std::set<pid_t> discarded_;
};

}  // namespace shadowprof
