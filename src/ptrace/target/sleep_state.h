// What a thread that sleeps in a system call would notice of a stop.
//
// A stop wakes it up: the call ends as at a signal, and is restarted. Most calls go on as if
// nothing had happened (signal(7), "Interruption of system calls and library functions by stop
// signals"). Others return EINTR or what they have done so far, begin their time-out anew, or write
// down how much of it is left.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

struct SleepingCall {
    std::uint64_t number = 0;  // SYS_...
    std::array<std::uint64_t, 6> arguments{};

    // From the text of /proc/PID/task/TID/syscall: nothing if the thread runs.
    static std::optional<SleepingCall> parse(std::string_view text);

    // It waits for a futex, and nothing else: other threads of the process may wake it up, and a
    // stop leaves no trace.
    bool is_futex_wait() const;

    // It bears a thread or a process, and sleeps at most until that runs.
    bool bears_child() const;

    bool operator==(const SleepingCall&) const = default;
};

// The call in which a thread sleeps now. Nothing where it runs, or that cannot be known. A thread
// that is being woken up on another processor still counts as asleep in its last call.
std::optional<SleepingCall> read_sleeping_call(pid_t pid, pid_t tid);

// Whether the program could notice a stop of a thread in this call. True unless the call is known
// to hide it.
bool is_stop_visible(pid_t pid, const SleepingCall& call);

// A call that was restarted though its time-out began anew.
struct RestartedCall {
    SleepingCall call;
    std::chrono::steady_clock::time_point first, last;
};

// For a thread whose call is about to return EINTR though the program has no part in that: lets it
// restart instead unless a signal handler runs. A time-out begins anew then, so where signals that
// are ignored come faster than it passes, the call ends as at its time-out once that has passed
// since the first restart. `earlier`: the thread's last restart, which the function keeps up to
// date. The thread must be in a trap.
Result<void> restart_interrupted_call(StoppedThread& thread, std::optional<RestartedCall>& earlier);

}  // namespace shadowprof
