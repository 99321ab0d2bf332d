// Measured quantities and whether two of them differ.
#pragma once

#include <cstddef>
#include <optional>

namespace shadowprof {

struct Measured {
    double value = 0;
    // Half the width of the 95% confidence interval; 0 for what is exact, nothing if it is not
    // known.
    std::optional<double> error = 0;
};

// The quantile of Student's t that a variable exceeds in either direction with the probability
// `alpha`, in (0, 1). Right to 6 digits for an alpha of at least 1e-9.
double two_sided_t(double alpha, std::size_t degrees_of_freedom);

// How sure a statement about many differences is.
struct Confidence {
    std::size_t tests = 1;               // differences that are judged together
    std::size_t degrees_of_freedom = 3;  // of the errors' own estimates, the lower one

    // By how much a 95% interval must be widened so that with the probability of 95% the intervals
    // of all tests hold (Bonferroni).
    double widening() const;
};

// Half the width of the 95% interval of `next` - `base` alone: the root of the sum of squares.
// Nothing if one of the errors is not known.
std::optional<double> difference_error(const Measured& base, const Measured& next);

}  // namespace shadowprof
