// Which threads of a stopped process take part in a sample.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <vector>

#include "ptrace/target.h"
#include "shadow/run_options.h"
#include "shadow/sample_job.h"

namespace shadowprof {

// Those that execute instructions, in random order; then those that wait on a futex, where others
// can wake them in the sample. Empty if none executes. Who waits in the kernel for something else
// does so for the whole of a sample.
std::vector<SampleThread> choose_threads(ScopedStop& stop, ThreadScope scope,
                                         std::mt19937_64& random);

// How threads are stopped for a live sample, within `longest` and `wait_for_processor`. Those that
// have no processor at that moment are left out: they execute nothing at it, and each has one when
// its turn comes. A shadow is of all threads: others wait for what they do in so long a sample.
StopLimits live_stop_limits(StopLimits::Duration longest, StopLimits::Duration wait_for_processor);
// Where none of several threads had a processor in the last stop, and some were left out, when to
// look again: at a moment that has nothing to do with when they are given one.
std::optional<std::chrono::steady_clock::time_point> another_moment(const Target& target,
                                                                    std::mt19937_64& random);

std::vector<pid_t> tids_of(const std::vector<SampleThread>& threads);

}  // namespace shadowprof
