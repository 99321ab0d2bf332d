#include "shadow/budget/fault_watch.h"

#include <algorithm>
#include <utility>

namespace shadowprof {

InducedFaults FaultWatch::observe(Clock::time_point now, std::uint64_t minor_faults) {
    InducedFaults induced{.copied = std::exchange(copied_, 0)};
    const auto before = std::exchange(faults_, minor_faults);
    const std::chrono::duration<double> passed = now - std::exchange(time_, now);
    if (!before || minor_faults < *before || passed.count() <= 0) return induced;
    const auto faults = minor_faults - *before;
    ++looks_since_learned_;
    if (pages_left_ != 0 && ++looks_since_fork_ > looks_of_fork) pages_left_ = 0;
    if (pages_left_ == 0) {
        learn(static_cast<double>(faults) / passed.count());
        return induced;
    }
    (replicas_ != 0 ? induced.copied : induced.reused) += take_induced(faults, passed.count());
    return induced;
}

void FaultWatch::on_fork(std::uint64_t pages) {
    pages_left_ = pages;
    looks_since_fork_ = 0;
    ++replicas_;
}

void FaultWatch::on_replica_end(Clock::time_point now, std::uint64_t minor_faults) {
    if (replicas_ != 0) --replicas_;
    if (pages_left_ == 0 || !faults_ || minor_faults < *faults_ || now <= time_) return;
    const std::chrono::duration<double> passed = now - std::exchange(time_, now);
    const auto faults = minor_faults - *std::exchange(faults_, minor_faults);
    copied_ += take_induced(faults, passed.count());
}

std::uint64_t FaultWatch::take_induced(std::uint64_t faults, double seconds) {
    const auto own = static_cast<std::uint64_t>(own_rate() * seconds);
    const auto induced = std::min(faults - std::min(own, faults), pages_left_);
    pages_left_ -= induced;
    return induced;
}

void FaultWatch::learn(double faults_per_second) {
    rates_[learned_++ % windows] = faults_per_second;
    looks_since_learned_ = 0;
}

// Returns the least of the last rates, as taking an induced fault for an own one would hide a cost.
double FaultWatch::own_rate() const {
    if (learned_ < windows || looks_since_learned_ > looks_of_rate) return 0;
    return std::ranges::min(rates_);
}

}  // namespace shadowprof
