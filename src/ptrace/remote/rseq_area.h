// Where a thread and the kernel share its restartable sequences (rseq(2)).
#pragma once

#include "base/guest_address.h"
#include "base/result.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {

// The thread's struct rseq, which the kernel writes to when it preempts the thread.
struct RseqArea {
    GuestAddress start;
    GuestAddress end;  // equal to `start` where the thread, or the kernel, has none

    bool empty() const { return start == end; }
};

// Error: gone.
Result<RseqArea> read_rseq_area(const StoppedThread& thread);

// The thread, which stands at `rip`, is inside a restartable sequence (rseq(2)). That has to be
// aborted when its thread was preempted; the kernel does so by the rip with which the thread goes
// on, which would be ours if the thread were borrowed.
Result<bool> in_restartable_sequence(const StoppedThread& thread, std::uint64_t rip);

}  // namespace shadowprof
