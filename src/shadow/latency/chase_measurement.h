// Loads of a pointer chase, timed in a process of our own as they are in a latency session.
#pragma once

#include <chrono>
#include <cstdint>

#include "profile/profile.h"
#include "ptrace/thread/wait_hub.h"
#include "shadow/latency/pointer_chase.h"

namespace shadowprof {

struct ChaseLoads {
    // The loads of the quietest quarter of the stops, of eight at least, by their medians: whoever
    // shares a cache makes loads slower and never faster.
    CycleHistogram cycles;
    CycleHistogram repeated;  // the same loads, made again at once
    double load_us = 0;       // that it takes to time one
};

// At moments at which the chase has had its processor for as long as it takes to visit all of its
// lines: at others they are not in its caches. `flushed`: each line is evicted before its load.
// Error: unsupported: the machine is too busy.
Result<ChaseLoads> measure_chase(WaitHub& hub, const ChaseMemory& memory, bool flushed,
                                 std::chrono::steady_clock::time_point until);

}  // namespace shadowprof
