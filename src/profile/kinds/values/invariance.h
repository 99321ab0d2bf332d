// Lower bounds for the invariance of instructions. Shadow-profiling 4.3 defines it as the share of
// an instruction's executions that produced its most frequent value.
//
// It is uncertain for two reasons:
//  - A hotlist's count is an estimate. Its compensation (profile/statistics/counting_sample.h) was
//    assumed and not counted; the rest is certain.
//  - Only some of a program's executions were recorded. Chernoff's bound on the tail of a binomial
//    distribution (Hoeffding, "Probability inequalities for sums of bounded random variables", JASA
//    58, 1963, theorem 1) limits the probability that a value of share p is seen c times or more in
//    n:
//      P <= exp(-n D(c/n || p)),  D(q || p) = q ln (q/p) + (1 - q) ln ((1 - q)/(1 - p)).
//    The most frequent value is not known beforehand, so any value might have been taken for it.
//    Bonferroni's inequality over all values, whose shares add up to 1, and the growth of P/p with
//    p give: with L as the largest share, any value is seen c times with a probability of at most
//    exp(-n D(c/n || L)) / L. The lower bound is the L for which that is 5%.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// Returns a lower bound, with a probability of 95%, for the share of the most frequent value if it
// was seen `times` in `trials` independent trials. Returns 0 if it was not seen again: times <= 1.
double invariance_lower_bound(double times, double trials);

// Sets the invariance of all values of the profile, in all and by caller, from `top`, `count` and
// `compensation`. Needs the samples, exactness and bursts in `sampling`. If every execution was
// recorded, the lower bound leaves out only the compensation. Sets no invariance if no value is
// known to have come twice, or if more than half of the count is compensation, as that much is
// assumed for a value that never repeats.
void state_invariance(Profile& profile);
// The same for one value profile.
void state_invariance(ValueProfile& values, const SamplingStats& sampling);

// Returns the most that compensation makes up of a count in `top`: the stated one, or else the
// largest error, which is no smaller.
double compensation_of(const std::vector<TopValue>& top, const std::optional<double>& stated);

}  // namespace shadowprof
