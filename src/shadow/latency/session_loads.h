// One latency session: a thread of a stopped target is emulated, and its loads are timed in the
// target.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "emu/worker/worker_process.h"
#include "shadow/latency/load_timer.h"
#include "shadow/latency/timeable_memory.h"

namespace shadowprof {

// A load that was timed and counts.
struct SeenLoad {
    GuestAddress pc;
    GuestAddress address;
    std::uint64_t size_bytes = 0;
    std::uint64_t cycles = 0;
};

struct SessionLoads {
    std::vector<SeenLoad> timed;
    std::vector<LoadTally> tallies;   // from the worker, not to be trusted
    LoadCounts counts = {};           // the same
    std::vector<ProbeRecord> probed;  // the same
    SampleEnd end = SampleEnd::time;
    std::uint64_t translation_ns = 0;
    bool worker_lost = false;
    bool worker_exhausted = false;
    bool is_over = false;  // the worker has reported all
    std::uint64_t questions = 0;
    std::uint64_t timing_ns = 0;  // of all questions, from their arrival to their answers
};

// Answers the worker's questions until the session ends, or until `until`. `timer` must be that of
// the thread that the worker emulates. Only loads in `memory` are timed.
SessionLoads follow_loads(WorkerProcess& worker, LoadTimer& timer, const TimeableMemory& memory,
                          std::chrono::steady_clock::time_point until);

// To be called after the stop. If the session was cut, waits until it is over for the worker as
// well.
void finish_loads(WorkerProcess& worker, SessionLoads& loads);

}  // namespace shadowprof
