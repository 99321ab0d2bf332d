// What is certain of the invariance of instructions: shadow-profiling 4.3 defines it, as the share
// of an instruction's executions that produced its most frequent value.
//
// Two things make it uncertain:
//  - A hotlist's count is an estimate. Its compensation (profile/statistics/counting_sample.h) is
//  what was not
//    counted but supposed; the rest was certainly there.
//  - Of a program's executions some were recorded. Chernoff's bound on the tail of a binomial
//    distribution (Hoeffding, "Probability inequalities for sums of bounded random variables", JASA
//    58, 1963, theorem 1) says how rarely a value of the share p is seen c times or more in n:
//        P <= exp(-n D(c/n || p)),  D(q || p) = q ln (q/p) + (1 - q) ln ((1 - q)/(1 - p)).
//    Which value is the most frequent one is not known before, so that each might have been taken
//    for it. Bonferroni's inequality over all values: their shares add up to 1 and P/p grows with
//    p, so with L as the largest share, none is seen c times with more than exp(-n D(c/n || L)) /
//    L. The lower bound is the L for which that is 5%.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// The share that the most frequent value has at least, with a probability of 95%, if it was seen
// `times` in so many independent `trials`. 0 where it was not seen again: times <= 1.
double invariance_lower_bound(double times, double trials);

// Sets the invariance of all values of the profile, and by caller, from `top`, `count` and
// `compensation`. Needs what `sampling` says of samples, exactness and bursts. Where every
// execution was recorded, the lower bound leaves out what was supposed and nothing else. An
// invariance is left out where no value is known to have come twice, and where more than half of
// the count is compensation: a value that never repeats has that much.
void state_invariance(Profile& profile);
// The same of one.
void state_invariance(ValueProfile& values, const SamplingStats& sampling);

// The most that compensation makes up of a count of `top`: as stated, or else the largest error,
// which is no less.
double compensation_of(const std::vector<TopValue>& top, const std::optional<double>& stated);

}  // namespace shadowprof
