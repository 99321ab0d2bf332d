#include "cli/control/live_refresh.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <thread>

namespace shadowprof::live_refresh_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("refreshes that are expensive are rare") {
    CHECK(pause_after_refresh(0ns) == 1s);
    CHECK(pause_after_refresh(20ms) == 1s);
    CHECK(pause_after_refresh(100ms) == 5s);
    CHECK(pause_after_refresh(3s) == 150s);
}

TEST_CASE("a refresh is due after a pause, and none before the last one is done") {
    std::vector<std::chrono::nanoseconds> periods;
    auto refresh = LiveRefresh::create(
        [&](RunOutcome, std::chrono::nanoseconds period) { periods.push_back(period); });
    REQUIRE(refresh.has_value());
    const auto is_due_within = [&](int milliseconds) {
        pollfd waiting = {refresh->fd(), POLLIN, 0};
        return ::poll(&waiting, 1, milliseconds) == 1;
    };
    CHECK_FALSE(refresh->take());
    REQUIRE(is_due_within(60'000));
    const auto first = refresh->take();
    REQUIRE(first.has_value());
    CHECK(first->part == DumpPart::whole);
    CHECK_FALSE(is_due_within(0));
    CHECK(first->receiver->open().has_value());
    std::thread([&] { CHECK(first->receiver->write({}).has_value()); }).join();
    first->receiver->on_done({});
    REQUIRE(is_due_within(60'000));
    CHECK(refresh->take().has_value());
    CHECK(periods.size() == 1);
}

}  // namespace
}  // namespace shadowprof::live_refresh_test
