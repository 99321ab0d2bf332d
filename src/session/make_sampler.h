// The sampler with all kinds of samples that a run asks for.
#pragma once

#include <memory>

#include "base/result.h"
#include "shadow/request/run_options.h"
#include "shadow/results/profile_dumps.h"
#include "shadow/results/profiling.h"
#include "shadow/sampler/sampler.h"

namespace shadowprof {

// `profiling`, `dumps` and `control`, which may be null, must outlive it. Errors: those of
// Sampler::create().
Result<std::unique_ptr<Sampler>> make_sampler(const RunOptions& options, Profiling& profiling,
                                              ProfileDumps& dumps, SamplingControl* control);

// When the target has ended or was let go: makes the last profile that `control`, which may be
// null, wants beside that of the run, and waits until all are made.
void finish_dumps(Profiling& profiling, const Target& target, Sampler& sampler, ProfileDumps& dumps,
                  SamplingControl* control);

}  // namespace shadowprof
