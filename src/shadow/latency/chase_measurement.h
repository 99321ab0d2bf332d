// Loads of a pointer chase, timed in a process of our own as they are in a latency session.
#pragma once

#include <chrono>
#include <cstdint>

#include "profile/profile.h"
#include "ptrace/thread/wait_hub.h"
#include "shadow/latency/pointer_chase.h"

namespace shadowprof {

struct ChaseLoads {
    // The loads of the quietest quarter of the stops, but of eight at least. The medians tell how
    // quiet a stop was: whoever shares a cache makes loads slower and never faster.
    CycleHistogram cycles;
    CycleHistogram repeated;  // the same loads, made again at once
    double load_us = 0;       // the time that it takes to time one
};

// Stops the chase when it has had its processor for as long as it takes to visit all of its lines,
// as they are not in its caches before. `flushed`: each line is evicted before its load. Error
// unsupported: the machine is too busy.
Result<ChaseLoads> measure_chase(WaitHub& hub, const ChaseMemory& memory, bool flushed,
                                 std::chrono::steady_clock::time_point until);

}  // namespace shadowprof
