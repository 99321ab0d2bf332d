#include "profile/kinds/values/invariance.h"

#include <algorithm>
#include <cmath>

#include "profile/statistics/independent_trials.h"

namespace shadowprof {
namespace {

constexpr double risk = 0.05;
// Number of bisections: more than the precision with which a share is shown.
constexpr int bisections = 40;

// n D(c/n || p), for 0 < p < c/n <= 1.
double divergence(double times, double trials, double p) {
    const double others = trials - times;
    const double of_others = others > 0 ? others * std::log(others / trials / (1 - p)) : 0;
    return times * std::log(times / trials / p) + of_others;
}

// Whether every execution of the program was recorded.
bool is_complete(const SamplingStats& sampling) {
    return sampling.exact && !sampling.bursts;
}

// Sets the invariance of `values`, of a site or of one of its callers. The lower bound is computed
// from the number of executions that certainly had the value.
template <typename Values>
void state(Values& values, const SamplingStats& sampling) {
    values.invariance.reset();
    if (values.top.empty() || values.count == 0) return;
    const auto executions = static_cast<double>(values.count);
    const auto estimate = static_cast<double>(values.top.front().count);
    const double compensation = compensation_of(values.top, values.compensation);
    // Counts are whole numbers, and estimates are rounded.
    const double certain = std::min(std::round(estimate - compensation), executions);
    if (!(certain >= 2) || !(certain >= compensation)) return;
    const double share = certain / executions;
    double lower_bound = share;
    if (!is_complete(sampling)) {
        const double trials = independent_trials(sampling, executions);
        lower_bound = invariance_lower_bound(share * trials, trials);
    }
    values.invariance = Invariance{std::min(1.0, estimate / executions), lower_bound};
}

}  // namespace

double invariance_lower_bound(double times, double trials) {
    if (!(times > 1) || !(trials >= times)) return 0;
    // ln (P / p) increases up to this p, where it is above 0.
    double below = 0, above = (times - 1) / (trials - 1);
    for (int i = 0; i < bisections; ++i) {
        const double p = (below + above) / 2;
        const bool rare = -divergence(times, trials, p) - std::log(p) < std::log(risk);
        (rare ? below : above) = p;
    }
    return below;
}

double compensation_of(const std::vector<TopValue>& top, const std::optional<double>& stated) {
    if (stated) return *stated;
    double error = 0;
    for (const TopValue& value : top) error = std::max(error, value.error);
    return error;
}

void state_invariance(ValueProfile& values, const SamplingStats& sampling) {
    state(values, sampling);
    for (CallerValues& by : values.by_caller) state(by, sampling);
}

void state_invariance(Profile& profile) {
    for (ValueProfile& values : profile.values) state_invariance(values, profile.sampling);
}

}  // namespace shadowprof
