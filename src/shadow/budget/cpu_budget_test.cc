#include "shadow/budget/cpu_budget.h"

#include <doctest/doctest.h>

namespace shadowprof::cpu_budget_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t ms = 1'000'000;

CpuBudget::Clock::time_point at(std::chrono::milliseconds time) {
    return CpuBudget::Clock::time_point{} + time;
}

}  // namespace

TEST_CASE("half a second of processor time may be taken in advance, and then a share") {
    CpuBudget budget(25);
    CHECK_FALSE(budget.spent_until());
    budget.observe(at(1000ms), 100 * ms);  // spent before it began
    budget.observe(at(1400ms), 700 * ms);  // 600 spent: 500 in advance and 100 that were earned
    CHECK_FALSE(budget.spent_until());
    budget.observe(at(1400ms), 800 * ms);
    CHECK(budget.spent_until() == at(1800ms));
    budget.observe(at(1600ms), 800 * ms);
    CHECK(budget.spent_until() == at(1800ms));
    budget.observe(at(1800ms), 800 * ms);
    CHECK_FALSE(budget.spent_until());
}

TEST_CASE("what is not taken is saved, but not for long") {
    CpuBudget budget(200);
    budget.observe(at(0ms), 0);
    budget.observe(at(1h), 0);
    budget.observe(at(1h), 500 * ms);
    CHECK_FALSE(budget.spent_until());
    budget.observe(at(1h), 700 * ms);
    CHECK(budget.spent_until() == at(1h + 100ms));
}

TEST_CASE("a tiny budget makes samples wait, and not for ever") {
    CpuBudget budget(1e-12);
    budget.observe(at(0ms), 0);
    budget.observe(at(0ms), 600 * ms);
    CHECK(budget.spent_until() == at(1h));
}

TEST_CASE("a worker that dies takes its time with it") {
    CpuBudget budget(50);
    budget.observe(at(0ms), 2000 * ms);
    budget.observe(at(100ms), 10 * ms);
    CHECK_FALSE(budget.spent_until());
    budget.observe(at(100ms), 610 * ms);
    CHECK(budget.spent_until() == at(300ms));
}

}  // namespace shadowprof::cpu_budget_test
