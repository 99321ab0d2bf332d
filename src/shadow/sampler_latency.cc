// When the sampler takes latency bursts, and what they cost.
#include "base/clock.h"
#include "shadow/sampler.h"

namespace shadowprof {
namespace {

// Of what is spent, where samples are taken as well. So a short run, which can afford but a few
// stops, has samples first.
constexpr double latency_share = 0.25;

}  // namespace

bool Sampler::is_latency_due(const SampledProcess& process) const {
    if (!latency_) return false;
    if (!options_.profiles.any_of_samples()) return true;
    if (latency_had_turn_) return false;
    const auto expected = latency_->expected_cost_seconds();
    return latency_seconds_ + expected <= latency_share * (costs_.total_seconds() + expected) &&
           latency_->may_take(process);
}

double Sampler::with_latency(double sample_seconds) const {
    return latency_ ? sample_seconds / (1 - latency_share) : sample_seconds;
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
        latency_seconds_ += std::chrono::duration<double>(pause).count();
        bursts_.add_stop(pause, burst_limit_);
    }
    using enum LatencyProfiler::Taken;
    if (taken && *taken == later) return schedule_.soon(Clock::now());
    // Whatever became of it: one that fails before its stop costs nothing, and would be due for
    // ever.
    latency_had_turn_ = true;
    if (taken && *taken == yes && !options_.profiles.any_of_samples()) ++started_;
    schedule_next(Clock::now(), processes_->find(number));
}

}  // namespace shadowprof
