// Sees the system calls of some threads of a running target.
#pragma once

#include <sys/types.h>

#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// Called by a Target while it keeps its threads going, in the thread that makes all ptrace calls.
// None of these may resume a thread or change its registers.
class SyscallWatcher {
  public:
    virtual ~SyscallWatcher() = default;
    // Whether the thread, which is about to go on, is to stop at the entry and the exit of each
    // system call. One that was watched before may still stop once when this is no longer so.
    virtual bool watches(pid_t tid) const = 0;
    // The thread stands at the entry or the exit of a call: see read_syscall_stop().
    virtual void on_syscall_stop(const StoppedThread& thread) = 0;
    // A signal is about to be delivered to the thread: a handler runs, or what is the default.
    virtual void on_signal(pid_t tid, int signal) = 0;
    // It has ended, or another program is executed, in memory of its own.
    virtual void on_thread_end(pid_t tid) = 0;
};

}  // namespace shadowprof
