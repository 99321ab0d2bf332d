// Measured quantities, and whether two of them differ.
#pragma once

#include <cstddef>
#include <optional>

namespace shadowprof {

struct Measured {
    double value = 0;
    // Half the width of the 95% confidence interval; 0 if the value is exact, nothing if the error
    // is unknown.
    std::optional<double> error = 0;
};

// The quantile of Student's t that a variable exceeds in either direction with the probability
// `alpha`, in (0, 1). Accurate to 6 digits for an alpha of at least 1e-9.
double two_sided_t(double alpha, std::size_t degrees_of_freedom);

// The confidence of a statement about many differences.
struct Confidence {
    std::size_t tests = 1;               // number of differences that are judged together
    std::size_t degrees_of_freedom = 3;  // the lower of the two error estimates'

    // The factor by which a 95% interval must be widened so that the intervals of all tests hold
    // together with a probability of 95% (Bonferroni).
    double widening() const;
};

// Half the width of the 95% interval of `next` - `base`: the root of the sum of squares. Nothing if
// one of the errors is unknown.
std::optional<double> difference_error(const Measured& base, const Measured& next);

}  // namespace shadowprof
