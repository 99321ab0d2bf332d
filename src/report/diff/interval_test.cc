// Intervals of differences.
#include "report/diff/interval.h"

#include <doctest/doctest.h>

namespace shadowprof::interval_test {

TEST_CASE("quantiles of Student's t are those of the tables") {
    CHECK(two_sided_t(0.05, 1) == doctest::Approx(12.7062).epsilon(1e-5));
    CHECK(two_sided_t(0.05, 2) == doctest::Approx(4.30265).epsilon(1e-5));
    CHECK(two_sided_t(0.05, 3) == doctest::Approx(3.18245).epsilon(1e-5));
    CHECK(two_sided_t(0.001, 7) == doctest::Approx(5.40788).epsilon(1e-5));
    CHECK(two_sided_t(0.05, 30) == doctest::Approx(2.04227).epsilon(1e-5));
    CHECK(two_sided_t(0.01, 60) == doctest::Approx(2.66028).epsilon(1e-5));
    CHECK(two_sided_t(0.05, 1'000'000) == doctest::Approx(1.95996).epsilon(2e-3));
}

TEST_CASE("one test is not widened, many are, and the more the fewer samples there were") {
    CHECK(Confidence{1, 10}.widening() == doctest::Approx(1));
    CHECK(Confidence{0, 10}.widening() == doctest::Approx(1));
    CHECK(Confidence{100, 1000}.widening() == doctest::Approx(3.4905 / 1.9623).epsilon(1e-3));
    CHECK(Confidence{100, 7}.widening() > Confidence{100, 30}.widening());
}

TEST_CASE("the error of a difference is the root of the sum of squares, or not known") {
    CHECK(*difference_error({1, 3}, {2, 4}) == doctest::Approx(5));
    CHECK(*difference_error({1, 0}, {2, 0}) == 0);
    CHECK_FALSE(difference_error({1, std::nullopt}, {2, 0}));
    CHECK_FALSE(difference_error({1, 0}, {2, std::nullopt}));
}

}  // namespace shadowprof::interval_test
