#include "shadow/budget/standing_cost.h"

#include <doctest/doctest.h>

namespace shadowprof::standing_cost_test {
using namespace std::chrono_literals;

namespace {

constexpr StandingCost::Clock::time_point start{1h};

}  // namespace

TEST_CASE("what is paid without samples is paid with them, too") {
    StandingCost cost;
    auto now = start;
    CHECK(cost.observe(now, 5, false).seconds == 0);
    now += 100ms;
    CHECK(cost.observe(now, 0.003, false).seconds == 0);
    now += 50ms;
    CHECK(cost.observe(now, 0.010, true).seconds == 0);
    now += 100ms;
    const auto both = cost.observe(now, 0.002, false);
    CHECK(both.seconds == doctest::Approx(0.004));
    CHECK(both.passed_seconds == doctest::Approx(0.2));
    now += 200ms;
    const auto third = cost.observe(now, 0.008, false);
    CHECK(third.seconds == doctest::Approx(0.008));
    CHECK(third.passed_seconds == doctest::Approx(0.2));
    // The rates were 30, 20 and 40 milliseconds a second.
    now += 50ms;
    CHECK(cost.observe(now, 0.010, true).seconds == doctest::Approx(0.0015));
    now += 50ms;
    CHECK(cost.observe(now, 0.0005, true).seconds == doctest::Approx(0.0005));
}

TEST_CASE("a sample that goes on is paid for longer than until the next observation") {
    StandingCost cost;
    auto now = start;
    cost.observe(now, 0, false, true);
    for (int i = 0; i < 5; ++i) CHECK(cost.observe(now += 100ms, 0.050, false, true).seconds == 0);
    CHECK(cost.observe(now += 100ms, 0.050, false, false).seconds == 0);
    CHECK(cost.observe(now += 100ms, 0.001, false).seconds == 0);
    CHECK(cost.observe(now += 100ms, 0.001, false).seconds == doctest::Approx(0.002));
}

TEST_CASE("a standing cost that ends is forgotten") {
    StandingCost cost;
    auto now = start;
    cost.observe(now, 0, false);
    for (int i = 0; i < 3; ++i) cost.observe(now += 100ms, 0.010, false);
    CHECK(cost.observe(now += 100ms, 0.020, true).seconds == doctest::Approx(0.010));
    for (int i = 0; i < 3; ++i) cost.observe(now += 100ms, 0, false);
    CHECK(cost.observe(now += 100ms, 0.020, true).seconds == 0);
}

TEST_CASE("no time is no rate") {
    StandingCost cost;
    cost.observe(start, 0, false);
    for (int i = 0; i < 5; ++i) CHECK(cost.observe(start, 1, false).seconds == 0);
}

}  // namespace shadowprof::standing_cost_test
