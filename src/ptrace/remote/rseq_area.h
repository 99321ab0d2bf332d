// The memory by which a thread and the kernel share restartable sequences (rseq(2)).
#pragma once

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// The thread's struct rseq, which the kernel writes to when it preempts the thread.
struct RseqArea {
    GuestAddress start;
    GuestAddress end;  // equal to `start` if the thread or the kernel has none

    bool empty() const { return start == end; }
};

// Error: gone.
Result<RseqArea> read_rseq_area(const StoppedThread& thread);

// Whether the thread, which is at `rip`, is inside a restartable sequence (rseq(2)). The kernel
// must abort the sequence if the thread was preempted. It decides by the rip with which the thread
// goes on, and for a borrowed thread that would be ours.
Result<bool> in_restartable_sequence(const StoppedThread& thread, std::uint64_t rip);

}  // namespace shadowprof
