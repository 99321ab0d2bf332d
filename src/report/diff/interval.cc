#include "report/diff/interval.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shadowprof {
namespace {

constexpr double alpha_of_all = 0.05;

// P(|T| > t) by the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
double outside(double t, std::size_t degrees_of_freedom) {
    const double theta = std::atan(t / std::sqrt(static_cast<double>(degrees_of_freedom)));
    const double cosine2 = std::cos(theta) * std::cos(theta);
    const bool odd = degrees_of_freedom % 2 == 1;
    double term = odd ? std::cos(theta) : 1, sum = degrees_of_freedom == 1 ? 0 : term;
    for (std::size_t i = odd ? 3 : 2; i + 2 <= degrees_of_freedom; i += 2) {
        const auto n = static_cast<double>(i);
        term *= cosine2 * (n - 1) / n;
        sum += term;
    }
    const double product = std::sin(theta) * sum;
    return 1 - (odd ? 2 / std::numbers::pi * (theta + product) : product);
}

}  // namespace

double two_sided_t(double alpha, std::size_t degrees_of_freedom) {
    // Beyond this, t equals the normal distribution to three digits.
    constexpr std::size_t most = 1000;
    const std::size_t degrees = std::clamp<std::size_t>(degrees_of_freedom, 1, most);
    const double wanted = std::clamp(alpha, 1e-9, 1.0);
    double low = 0, high = 1;
    while (outside(high, degrees) > wanted) high *= 2;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (outside(middle, degrees) > wanted ? low : high) = middle;
    }
    return high;
}

double Confidence::widening() const {
    const auto each = alpha_of_all / static_cast<double>(std::max<std::size_t>(tests, 1));
    return two_sided_t(each, degrees_of_freedom) / two_sided_t(alpha_of_all, degrees_of_freedom);
}

std::optional<double> difference_error(const Measured& base, const Measured& next) {
    if (!base.error || !next.error) return std::nullopt;
    return std::hypot(*base.error, *next.error);
}

}  // namespace shadowprof
