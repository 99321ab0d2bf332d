// Observes the system calls of some threads of a running target.
#pragma once

#include <sys/types.h>

#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// A Target calls these functions while it keeps its threads going, in the thread that makes all
// ptrace calls. They must not resume a thread or change its registers.
class SyscallWatcher {
  public:
    virtual ~SyscallWatcher() = default;
    // Whether the thread, which is about to be resumed, should stop at the entry and the exit of
    // each system call. A thread that is no longer watched may still stop once.
    virtual bool watches(pid_t tid) const = 0;
    // The thread is at the entry or the exit of a call: see read_syscall_stop().
    virtual void on_syscall_stop(const StoppedThread& thread) = 0;
    // A signal is about to be delivered to the thread: its handler runs, or the default action.
    virtual void on_signal(pid_t tid, int signal) = 0;
    // The thread has ended, or another program is executed in a new address space.
    virtual void on_thread_end(pid_t tid) = 0;
};

}  // namespace shadowprof
