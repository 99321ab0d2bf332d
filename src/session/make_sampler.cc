#include "session/make_sampler.h"

#include "shadow/latency/latency_sessions.h"

namespace shadowprof {

Result<std::unique_ptr<Sampler>> make_sampler(const RunOptions& options, Profiling& profiling,
                                              ProfileDumps& dumps, SamplingControl* control) {
    TRY_ASSIGN(auto sampler,
               Sampler::create(options, profiling.seed(), profiling.hub(), profiling.modules(),
                               profiling.collected(), profiling.probes()));
    sampler->obey(control);
    sampler->dump_to([&dumps](DumpRequest request, SampledSoFar sampled) {
        dumps.take(std::move(request), std::move(sampled));
    });
    if (options.profiles.has<LatencyList>())
        sampler->measure_beside(std::make_unique<LatencySessions>(
            options, profiling.seed() + 1, profiling.hub(), profiling.modules(), sampler->costs(),
            profiling.probes()));
    return sampler;
}

void finish_dumps(Profiling& profiling, const Target& target, Sampler& sampler, ProfileDumps& dumps,
                  SamplingControl* control) {
    dumps.drain();
    const auto last = control ? control->last_dump() : std::nullopt;
    if (!last) return;
    profiling.note_end(target);
    dumps.take(*last, sampler.so_far(last->part));
    dumps.drain();
}

}  // namespace shadowprof
