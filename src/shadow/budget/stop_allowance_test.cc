#include "shadow/budget/stop_allowance.h"

#include <doctest/doctest.h>

namespace shadowprof::stop_allowance_test {
namespace {

using namespace std::chrono_literals;

constexpr double share = 0.01;

StopAllowance::Clock::time_point at(std::chrono::milliseconds time) {
    return StopAllowance::Clock::time_point{} + time;
}

}  // namespace

TEST_CASE("a process may lose a share of its time, and a little in advance") {
    StopAllowance allowance;
    allowance.pass(at(1s), share);
    allowance.spend(StopAllowance::first_seconds);
    CHECK_FALSE(allowance.is_used_up());
    allowance.spend(0.004);
    CHECK(allowance.is_used_up());
    allowance.pass(at(1399ms), share);
    CHECK(allowance.is_used_up());
    allowance.pass(at(1401ms), share);
    CHECK_FALSE(allowance.is_used_up());
}

TEST_CASE("a process that was let go is followed again when there is something to lose") {
    StopAllowance allowance;
    allowance.pass(at(1s), share);
    CHECK(allowance.may_follow_from(share) <= at(1s));
    allowance.spend(StopAllowance::first_seconds + 0.003);
    const auto from = allowance.may_follow_from(share);
    CHECK(from > at(1499ms));
    CHECK(from < at(1501ms));
    allowance.pass(from + 1ms, share);
    CHECK(allowance.may_follow_from(share) <= from + 1ms);
    CHECK_FALSE(allowance.has_room_for_births());
    allowance.pass(from + 301ms, share);
    CHECK(allowance.has_room_for_births());
}

TEST_CASE("not much is saved up") {
    StopAllowance allowance;
    allowance.pass(at(1s), share);
    allowance.pass(at(1000s), share);
    allowance.spend(StopAllowance::max_seconds);
    CHECK_FALSE(allowance.is_used_up());
    allowance.spend(1e-6);
    CHECK(allowance.is_used_up());
}

}  // namespace shadowprof::stop_allowance_test
