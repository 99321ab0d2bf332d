// When the sampler takes latency bursts, and what they cost.
#include "base/clock.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

// Samples between two latency bursts, where both are asked for.
constexpr unsigned samples_per_latency_burst = 3;

}  // namespace

bool Sampler::is_latency_due(const SampledProcess& process) const {
    if (!latency_) return false;
    if (!options_.profiles.any_of_samples()) return true;
    return samples_since_latency_ >= samples_per_latency_burst && latency_->may_take(process);
}

double Sampler::latency_cost_per_sample() const {
    if (!latency_) return 0;
    return latency_->expected_cost_seconds() / samples_per_latency_burst;
}

void Sampler::take_latency_burst(SampledProcess& process, Clock::time_point now) {
    const auto number = process.number;
    if (!latency_->may_take(process)) {
        note_idle(&process);
        return schedule_.on_refusal(now);
    }
    if (budget_) {
        const auto cost = latency_->expected_cost_seconds();
        const auto until = budget_->when_within(costs_.total_seconds() + cost);
        if (until > now) return schedule_.postpone(now, until);
    }
    const auto taken = latency_->take(process, options_.threads, random_);
    if (const auto pause = latency_->pause(); pause.count() != 0) {
        costs_.add_pause(to_ns(pause));
        bursts_.add_stop(pause, burst_limit_);
    }
    using enum LatencyProfiler::Taken;
    if (taken && *taken == later) return schedule_.soon(Clock::now());
    // Whatever became of it: the next turn is that of samples.
    samples_since_latency_ = 0;
    if (taken && *taken == yes && !options_.profiles.any_of_samples()) ++started_;
    schedule_next(Clock::now(), processes_->find(number));
}

}  // namespace shadowprof
