// The sampler with all kinds of samples that a run asks for.
#pragma once

#include <memory>

#include "base/result.h"
#include "shadow/request/run_options.h"
#include "shadow/results/profile_dumps.h"
#include "shadow/results/profiling.h"
#include "shadow/sampler/sampler.h"

namespace shadowprof {

// `profiling`, `dumps` and `control` must outlive the sampler; `control` may be null. Errors: those
// of Sampler::create().
Result<std::unique_ptr<Sampler>> make_sampler(const RunOptions& options, Profiling& profiling,
                                              ProfileDumps& dumps, SamplingControl* control);

// To be called when the target has ended or was detached from. Makes the last profile that
// `control` asks for besides that of the run, and waits until all profiles are made. `control` may
// be null.
void finish_dumps(Profiling& profiling, const Target& target, Sampler& sampler, ProfileDumps& dumps,
                  SamplingControl* control);

}  // namespace shadowprof
