// What a stop at a system call costs the thread that makes it.
#pragma once

#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

// Nanoseconds from a thread's stop until it goes on, on this machine as it is loaded now, beside
// what is done at the stop; measured on a child of this process. 0 if that was not possible. To be
// called in the thread that makes all ptrace calls.
double measure_syscall_stop_price_ns(WaitHub& hub);

}  // namespace shadowprof
