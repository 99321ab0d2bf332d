#include "session/make_sampler.h"

#include "shadow/latency/latency_sessions.h"

namespace shadowprof {

Result<std::unique_ptr<Sampler>> make_sampler(const RunOptions& options, Profiling& profiling,
                                              SamplingControl* control) {
    TRY_ASSIGN(auto sampler,
               Sampler::create(options, profiling.seed(), profiling.hub(), profiling.modules(),
                               profiling.collected(), profiling.probes()));
    sampler->obey(control);
    if (options.profiles.latency)
        sampler->measure_beside(std::make_unique<LatencySessions>(
            options, profiling.seed() + 1, profiling.hub(), profiling.modules(), sampler->costs(),
            profiling.probes()));
    return sampler;
}

}  // namespace shadowprof
