// The sampler with all kinds of samples that a run asks for.
#pragma once

#include <memory>

#include "base/result.h"
#include "shadow/profiling.h"
#include "shadow/run_options.h"
#include "shadow/sampler.h"

namespace shadowprof {

// `profiling` and `control`, which may be null, must outlive it. Errors: those of
// Sampler::create().
Result<std::unique_ptr<Sampler>> make_sampler(const RunOptions& options, Profiling& profiling,
                                              SamplingControl* control);

}  // namespace shadowprof
