#include "shadow/budget/standing_cost.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shadowprof {

StandingCost::Part StandingCost::observe(Clock::time_point now, double seconds, bool sampled,
                                         bool is_sampling) {
    sampled |= std::exchange(was_sampling_, is_sampling);
    const auto before = std::exchange(last_, now);
    if (!before || now <= *before) return {};
    const double passed_seconds = std::chrono::duration<double>(now - *before).count();
    if (!sampled) rates_[stretches_++ % remembered_stretches] = seconds / passed_seconds;
    if (!is_known()) {
        if (!sampled) first_ = {seconds, passed_seconds};
        return {};
    }
    if (sampled) return {std::min(seconds, usual_rate() * passed_seconds), passed_seconds};
    const auto first = std::exchange(first_, {});
    const auto rate = seconds / passed_seconds;
    return {seconds + std::min(first.seconds, rate * first.passed_seconds),
            passed_seconds + first.passed_seconds};
}

double StandingCost::usual_rate() const {
    const auto known = std::min(stretches_, remembered_stretches);
    return std::reduce(rates_.begin(), rates_.end()) / static_cast<double>(known);
}

}  // namespace shadowprof
