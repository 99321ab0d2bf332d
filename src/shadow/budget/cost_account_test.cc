#include "shadow/budget/cost_account.h"

#include <doctest/doctest.h>

namespace shadowprof::cost_account_test {

TEST_CASE("a slowdown is told by what was paid, beside what the target would have taken") {
    CostAccount costs({.copy_ns = 1000, .reuse_ns = 500});
    costs.add_pause(50'000'000);
    costs.add_faults({.copied = 30'000, .reused = 40'000});
    CHECK(costs.estimated_slowdown_percent(1.1) == doctest::Approx(10));
    CHECK(costs.estimated_slowdown_percent(0) == 0);
    costs.add_syscall_stops(100'000'000);
    CHECK(costs.estimated_slowdown_percent(1.1) == doctest::Approx(100 * 0.2 / 0.9));
}

TEST_CASE("costs beyond what the run took are no reason to call it free") {
    CostAccount costs({.copy_ns = 1000, .reuse_ns = 500});
    costs.add_pause(500'000'000);
    costs.add_faults({.copied = 5'000'000});
    CHECK(costs.estimated_slowdown_percent(1) > 1000);
}

}  // namespace shadowprof::cost_account_test
