#include "profile/flow/event_bursts.h"

namespace shadowprof {
namespace {

// The length of one kind; the others are 0.
KindEvents alone(const KindEvents& lengths, BurstKind kind) {
    KindEvents own;
    own[kind] = lengths[kind];
    return own;
}

}  // namespace

BurstSeries::BurstSeries(const KindEvents& lengths, std::uint64_t every, std::uint64_t seed)
    : lengths_(lengths), every_(every), random_(seed) {
    const auto longest = lengths_.most();
    if (longest == 0) return;
    const auto period = longest + every_;
    const auto passed = random_.next() % period;
    for (std::size_t i = 0; i < burst_kinds; ++i) {
        const auto length = lengths_.numbers[i];
        left_.numbers[i] = length - std::min(length, passed);
    }
    any_on_ = passed < longest;
    if (!any_on_) wait_ = period - passed;
}

void BurstSeries::on_event() {
    if (!any_on_) {
        if (--wait_ == 0) begin();
        return;
    }
    for (auto& left : left_.numbers) left -= left != 0;
    any_on_ = left_.most() != 0;
    if (!any_on_) end();
}

void BurstSeries::begin() {
    left_ = lengths_;
    any_on_ = true;
    ++begun_;
}

// The number of events until the next burst varies from half to one and a half times `every_`, so
// that no loop is in step with bursts.
void BurstSeries::end() {
    const auto spread = every_ / 2;
    wait_ = every_ - spread + random_.next() % (2 * spread + 1);
    if (wait_ == 0) begin();
}

EventBursts::EventBursts(const BurstPlan& plan, std::uint64_t seed) {
    auto together = plan.lengths;
    for (std::size_t i = 0; i < burst_kinds; ++i)
        if (plan.own_every.numbers[i] != 0) together.numbers[i] = 0;
    series_.emplace_back(together, plan.every, seed);
    for (std::size_t i = 0; i < burst_kinds; ++i) {
        const auto every = plan.own_every.numbers[i];
        if (every == 0) continue;
        series_of_[i] = static_cast<std::uint8_t>(series_.size());
        const auto own = alone(plan.lengths, static_cast<BurstKind>(i));
        series_.emplace_back(own, every, mix64(seed + i + 1));
    }
}

std::uint64_t EventBursts::quiet_events() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& each : series_) least = std::min(least, each.quiet_events());
    return least;
}

void EventBursts::pass(std::uint64_t events) {
    for (auto& each : series_) each.pass(events);
    events_ += events;
}

void EventBursts::on_event() {
    ++events_;
    for (auto& each : series_) each.on_event();
    for (std::size_t i = 0; i < burst_kinds; ++i)
        events_on_.numbers[i] += is_on(static_cast<BurstKind>(i));
}

BurstCounts EventBursts::counts() const {
    BurstCounts counts;
    counts.events = events_;
    counts.events_on = events_on_;
    for (const auto& each : series_) counts.bursts += each.begun();
    for (std::size_t i = 0; i < burst_kinds; ++i) {
        const auto kind = static_cast<BurstKind>(i);
        counts.begun[kind] = of(kind).begun(kind);
    }
    return counts;
}

}  // namespace shadowprof
