#include "shadow/budget/cpu_budget.h"

#include <algorithm>

namespace shadowprof {

using std::chrono::duration;

void CpuBudget::observe(Clock::time_point now, std::uint64_t own_cpu_ns) {
    const auto before = last_.value_or(Observation{now, own_cpu_ns});
    last_ = Observation{now, own_cpu_ns};
    const auto passed = duration<double>(now - before.time).count();
    // The time of a worker that has died is no longer counted.
    const auto taken = own_cpu_ns - std::min(own_cpu_ns, before.own_cpu_ns);
    left_seconds_ += processors_ * passed - static_cast<double>(taken) / 1e9;
    left_seconds_ = std::min(left_seconds_, max_saved_seconds);
}

std::optional<CpuBudget::Clock::time_point> CpuBudget::spent_until() const {
    if (!last_ || left_seconds_ >= 0) return std::nullopt;
    return last_->time + std::chrono::round<Clock::duration>(duration<double>(
                             std::min(-left_seconds_ / processors_, longest_wait_seconds)));
}

}  // namespace shadowprof
