// What a thread that sleeps in a system call would notice of a stop.
//
// A stop wakes the thread: the call ends as at a signal, and is restarted. Most calls go on as if
// nothing had happened (signal(7), "Interruption of system calls and library functions by stop
// signals"). Others return EINTR or what they have done so far, start their time-out anew, or write
// down the remaining time.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/files/fd.h"
#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

struct SleepingCall {
    std::uint64_t number = 0;  // SYS_...
    std::array<std::uint64_t, 6> arguments{};

    // Whether it only waits for a futex. Other threads of the process may then wake it, and a stop
    // leaves no trace.
    bool is_futex_wait() const;

    // Whether it creates a thread or a process. It then sleeps at most until that runs.
    bool bears_child() const;

    bool operator==(const SleepingCall&) const = default;
};

// Where a thread sleeps, as /proc/PID/task/TID/syscall tells.
struct SleepingThread {
    SleepingCall call;
    GuestAddress stack_pointer, program_counter;  // the latter behind the call

    // Returns nothing if the thread does not sleep in a system call.
    static std::optional<SleepingThread> parse(std::string_view text);
};

// Returns the call in which a thread sleeps now. Nothing if it runs, or if that is unknown. A
// thread that is being woken on another processor still counts as asleep in its last call.
std::optional<SleepingCall> read_sleeping_call(pid_t pid, pid_t tid);

// Tells whether a thread is on a processor or ready for one, in a microsecond.
class ActivityFile {
  public:
    ActivityFile() = default;
    ActivityFile(pid_t pid, pid_t tid);
    // False also if the thread is gone.
    bool is_active() const;
    // Where it sleeps; nothing also if the thread is gone.
    std::optional<SleepingThread> sleep() const;

  private:
    UniqueFd fd_;
};

// Whether the program could notice a stop of a thread in this call. True unless the call is known
// to hide it.
bool is_stop_visible(pid_t pid, const SleepingCall& call);

// A call that was restarted although its time-out began anew.
struct RestartedCall {
    SleepingCall call;
    std::chrono::steady_clock::time_point first, last;
};

// Restarts a call that is about to return EINTR only because the thread is traced, unless a signal
// handler runs. A time-out then begins anew. If ignored signals come faster than the time-out
// passes, the call therefore ends as at its time-out once that has passed since the first restart.
// `earlier` is the thread's last restart, which the function updates. The thread must be in a trap.
Result<void> restart_interrupted_call(StoppedThread& thread, std::optional<RestartedCall>& earlier);

}  // namespace shadowprof
