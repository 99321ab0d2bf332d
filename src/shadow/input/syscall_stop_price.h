// What a stop at a system call costs the thread that makes it.
#pragma once

#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

// Returns the nanoseconds from a thread's stop until it goes on, without the work done at the stop,
// on this machine as it is loaded now. Measures a child of this process. Returns 0 if that fails.
// To be called in the thread that makes all ptrace calls.
double measure_syscall_stop_price_ns(WaitHub& hub);

}  // namespace shadowprof
