#include "shadow/schedule/sample_weight.h"

#include <doctest/doctest.h>

namespace shadowprof::sample_weight_test {

TEST_CASE("a sample stands for as many executions as its time is part of the run's") {
    CHECK(sample_weight(0.2, 0.001) == 200 * 32);
    CHECK(sample_weight(0.2, 0.0005) == 400 * 32);
}

TEST_CASE("a weight is at least 1, and no more than sums can take") {
    CHECK(sample_weight(0, 0.001) == 1);
    CHECK(sample_weight(1, 1e6) == 1);
    CHECK(sample_weight(1e6, 1e-9) == 100'000'000);
    CHECK(sample_weight(1, 0) == sample_weight(1, 1e-9));
}

}  // namespace shadowprof::sample_weight_test
