#include "shadow/budget/processor_theft.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace shadowprof::processor_theft_test {
using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t ms = 1'000'000;
const ProcessorTheft::Clock::time_point start{std::chrono::seconds(9)};

}  // namespace

TEST_CASE("a thread's times are read from its text") {
    RunTimes times;
    CHECK(times.add("1000 20 7\n"));
    CHECK(times.add("500 3 1\n"));
    CHECK(times.run_ns == 1500);
    CHECK(times.delay_ns == 23);
    for (const char* bad :
         {"", "\n", "12", "x 1 2", "12 ", "-1 2 3", "99999999999999999999999 1 1"}) {
        CAPTURE(bad);
        CHECK_FALSE(times.add(bad));
    }
}

TEST_CASE("the kernel counts the times of this process") {
    auto times = read_run_times(getpid());
    if (!times) {
        MESSAGE("this kernel counts none: ", times.error().message);
        return;
    }
    // A thread's time is counted when it leaves the processor.
    for (int i = 0; i < 10'000 && times && times->run_ns == 0; ++i) {
        usleep(1000);
        times = read_run_times(getpid());
    }
    REQUIRE(times);
    CHECK(times->run_ns > 0);
    CHECK_FALSE(read_run_times(1 << 30));
}

TEST_CASE("waiting is ours as far as we ran meanwhile") {
    ProcessorTheft theft;
    CHECK(theft.observe(start, {.run_ns = 50 * ms, .delay_ns = 10 * ms}, 100 * ms) == 0);
    auto now = start + milliseconds(100);
    CHECK(theft.observe(now, {.run_ns = 150 * ms, .delay_ns = 10 * ms}, 180 * ms) == 0);
    now += milliseconds(100);
    CHECK(theft.observe(now, {.run_ns = 230 * ms, .delay_ns = 30 * ms}, 300 * ms) ==
          doctest::Approx(0.020));
    now += milliseconds(100);
    CHECK(theft.observe(now, {.run_ns = 270 * ms, .delay_ns = 90 * ms}, 305 * ms) ==
          doctest::Approx(0.005));
}

TEST_CASE("what we run while the target stands still takes no processor from it") {
    ProcessorTheft theft;
    theft.observe(start, {.run_ns = 0, .delay_ns = 0}, 40 * ms, 40 * ms);
    auto now = start + milliseconds(100);
    CHECK(theft.observe(now, {.run_ns = 50 * ms, .delay_ns = 50 * ms}, 70 * ms, 60 * ms) ==
          doctest::Approx(0.010));
    // Nobody ran for most of this pause.
    now += milliseconds(100);
    CHECK(theft.observe(now, {.run_ns = 90 * ms, .delay_ns = 90 * ms}, 75 * ms, 90 * ms) == 0);
    now += milliseconds(100);
    CHECK(theft.observe(now, {.run_ns = 140 * ms, .delay_ns = 140 * ms}, 85 * ms, 90 * ms) ==
          doctest::Approx(0.010));
}

TEST_CASE("processors are contended where what we ran was mostly waited for, of late") {
    ProcessorTheft theft;
    CHECK_FALSE(theft.is_contended());
    auto now = start;
    std::uint64_t ours_ns = 0, delay_ns = 0;
    const auto pass = [&](std::uint64_t ran_ns, std::uint64_t waited_ns) {
        now += milliseconds(100);
        ours_ns += ran_ns;
        delay_ns += waited_ns;
        theft.observe(now, {.run_ns = 0, .delay_ns = delay_ns}, ours_ns);
    };
    pass(0, 0);
    pass(10 * ms, 2 * ms);
    CHECK_FALSE(theft.is_contended());
    // However long threads waited, they waited for us only as long as we ran.
    pass(10 * ms, 90 * ms);
    CHECK(theft.is_contended());
    pass(1 * ms, 0);
    CHECK(theft.is_contended());
    for (int i = 0; i < 4; ++i) pass(10 * ms, 0);
    CHECK_FALSE(theft.is_contended());
}

namespace {

// A target, looked at after each stretch of 100 ms.
struct Watched {
    ProcessorTheft theft;
    ProcessorTheft::Clock::time_point now = start;
    RunTimes times;
    std::uint64_t ours_ns = 0;

    Watched() { theft.observe(now, times, ours_ns); }
    // Passes a stretch in which we ran, and the target waited, for so long. Returns how long it
    // waited for us, in seconds.
    double pass(std::uint64_t ran_ns, std::uint64_t waited_ns) {
        now += milliseconds(100);
        ours_ns += ran_ns;
        times.delay_ns += waited_ns;
        times.run_ns += 100 * ms - waited_ns;
        return theft.observe(now, times, ours_ns);
    }
};

}  // namespace

TEST_CASE("what is waited while we hardly run is for others, also when we run") {
    Watched target;
    CHECK(target.pass(10 * ms, 60 * ms) == doctest::Approx(0.010));  // nothing is known yet
    CHECK(target.pass(0, 50 * ms) == 0);
    CHECK(target.pass(0, 50 * ms) == 0);
    CHECK(target.pass(10 * ms, 50 * ms) == doctest::Approx(0).epsilon(0.001));
    CHECK(target.pass(10 * ms, 54 * ms) == doctest::Approx(0.004));
    CHECK(target.pass(10 * ms, 90 * ms) == doctest::Approx(0.010));
    CHECK(target.theft.is_contended());
}

TEST_CASE("what is waited beyond the usual once, and less than that before, is chance") {
    Watched target;
    for (int i = 0; i < 10; ++i) target.pass(0, 20 * ms);
    CHECK(target.pass(10 * ms, 15 * ms) == 0);
    CHECK(target.pass(10 * ms, 27 * ms) == doctest::Approx(0.007 - 0.75 * 0.005));
    // A long time without waiting does not make up for what we take.
    for (int i = 0; i < 10; ++i) CHECK(target.pass(10 * ms, 0) == 0);
    CHECK(target.pass(40 * ms, 60 * ms) == doctest::Approx(0.040));
}

TEST_CASE("what we hardly run is waited for as much as what we run at other times") {
    Watched idle, full;
    // While nothing is known, all waiting that can have been for us counts.
    CHECK(idle.pass(1 * ms, 20 * ms) == doctest::Approx(0.001));
    CHECK(full.pass(1 * ms, 20 * ms) == doctest::Approx(0.001));
    for (int i = 0; i < 4; ++i) {
        CHECK(idle.pass(10 * ms, 10 * ms) == 0);
        CHECK(full.pass(10 * ms, 40 * ms) == doctest::Approx(0.010));
    }
    CHECK(idle.pass(1 * ms, 20 * ms) == 0);
    CHECK(full.pass(1 * ms, 20 * ms) == doctest::Approx(0.001));
    for (int i = 0; i < 40; ++i) {
        idle.pass(0, 20 * ms);
        idle.pass(10 * ms, 25 * ms);
    }
    const double half = idle.pass(1 * ms, 20 * ms);
    CHECK(half > 0.0004);
    CHECK(half < 0.0006);
    // The comparison is forgotten in time.
    for (int i = 0; i < 600; ++i) idle.pass(1 * ms, 20 * ms);
    CHECK(idle.pass(1 * ms, 20 * ms) == doctest::Approx(0.001));
}

TEST_CASE("what is usual changes") {
    Watched target;
    for (int i = 0; i < 10; ++i) target.pass(0, 50 * ms);
    for (int i = 0; i < 100; ++i) target.pass(0, 0);
    CHECK(target.pass(10 * ms, 10 * ms) == doctest::Approx(0.010).epsilon(0.05));
}

TEST_CASE("threads that wait at the same time lose it once") {
    ProcessorTheft theft;
    theft.observe(start, {}, 0);
    const RunTimes of_four{.run_ns = 300 * ms, .delay_ns = 100 * ms};
    CHECK(theft.observe(start + milliseconds(100), of_four, 200 * ms) == doctest::Approx(0.025));
}

TEST_CASE("times that shrink, as threads end, are no negative cost") {
    ProcessorTheft theft;
    theft.observe(start, {.run_ns = 500 * ms, .delay_ns = 500 * ms}, 500 * ms);
    CHECK(theft.observe(start + milliseconds(10), {.run_ns = 1, .delay_ns = 1}, 1) == 0);
    CHECK(theft.observe(start, {.run_ns = 90 * ms, .delay_ns = 90 * ms}, 90 * ms) == 0);
}

}  // namespace shadowprof::processor_theft_test
