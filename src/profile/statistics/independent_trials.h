// How many of a profile's recorded executions count where chance is judged.
#pragma once

#include <algorithm>

#include "profile/profile.h"

namespace shadowprof {

// Executions that follow each other are alike: of each sample so many count as independent.
inline constexpr double trials_of_a_sample = 4;

// The trials of an entry with so many `executions`. They are all where every instruction was
// followed.
inline double independent_trials(const SamplingStats& sampling, double executions) {
    if (sampling.exact) return executions;
    return std::min(executions, trials_of_a_sample * static_cast<double>(sampling.samples));
}

}  // namespace shadowprof
