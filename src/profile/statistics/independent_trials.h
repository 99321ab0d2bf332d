// Converts recorded executions to independent trials, for statistical tests.
#pragma once

#include <algorithm>

#include "profile/profile.h"

namespace shadowprof {

// Executions that follow each other are alike, so only so many of each sample count as independent.
inline constexpr double trials_of_a_sample = 4;

// The number of independent trials among an entry's `executions`. In exact mode it is all of them.
inline double independent_trials(const SamplingStats& sampling, double executions) {
    if (sampling.exact) return executions;
    return std::min(executions, trials_of_a_sample * static_cast<double>(sampling.samples));
}

}  // namespace shadowprof
