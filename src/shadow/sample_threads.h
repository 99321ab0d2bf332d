// Which threads of a stopped process take part in a sample.
#pragma once

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

std::vector<pid_t> tids_of(const std::vector<SampleThread>& threads);

}  // namespace shadowprof
