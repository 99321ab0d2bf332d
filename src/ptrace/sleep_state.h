// Whether a thread sleeps in a system call that must not be disturbed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "ptrace/stopped_thread.h"

namespace shadowprof {

// Most blocking calls restart after a stop as if nothing had happened. These do not: any stop makes
// them return EINTR, or makes their time-out begin anew (signal(7), "Interruption of system calls
// and library functions by stop signals").
bool stop_is_visible_to(std::uint64_t syscall_number);

// Whether a thread is asleep in such a call now, by /proc/PID/task/TID/syscall. False where that
// cannot be known.
bool sleeps_undisturbed(pid_t pid, pid_t tid);

// The part of that which reads the file's text.
bool sleeps_undisturbed(std::string_view syscall_text);

// For a thread that fell asleep in such a call just before it was stopped: lets the call, which is
// about to return EINTR, restart instead unless a signal handler runs. The thread must be in a
// trap.
Result<void> restart_interrupted_call(StoppedThread& thread);

}  // namespace shadowprof
