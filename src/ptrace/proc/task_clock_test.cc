#include "ptrace/proc/task_clock.h"

#include "base/clock.h"
#include "ptrace/test_support.h"

namespace shadowprof::task_clock_test {
namespace {

using namespace std::chrono_literals;

constexpr auto period = 1ms;

// Kernels and containers may refuse. Then there is nothing to test.
bool is_refused(const Result<TaskClock>& clock) {
    if (clock) return false;
    const auto code = clock.error().code;
    CHECK((code == ErrorCode::permission || code == ErrorCode::unsupported));
    MESSAGE("no task clock here: " << clock.error().message);
    return true;
}

std::uint64_t thread_ns() {
    return static_cast<std::uint64_t>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

std::uint64_t monotonic_ns() {
    return static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC));
}

}  // namespace

TEST_CASE("ticks are where the time goes, one in each period of it") {
    auto clock = TaskClock::open(0, period);
    if (is_refused(clock)) return;
    // The kernel's timer counts the time that a hypervisor takes; a thread's time leaves it out.
    const auto wall_begin = monotonic_ns();
    const auto begin = thread_ns();
    while (thread_ns() - begin < 100'000'000) spin_for(200'000);
    const auto periods = (thread_ns() - begin) / 1'000'000;
    std::uint64_t ticks = 0, within = 0;
    const auto start = reinterpret_cast<std::uint64_t>(&spin_for);
    clock->take([&](GuestAddress at) {
        ++ticks;
        within += at.value >= start && at.value < start + 256 ? 1 : 0;
    });
    CHECK(ticks <= (monotonic_ns() - wall_begin) / 1'000'000 + 1);
    // A virtual machine whose processor is taken away for a while records one tick for that time.
    CHECK(ticks >= periods / 20);
    CHECK(within * 10 >= ticks * 9);
    CHECK(clock->lost() == 0);
    clock->take([&](GuestAddress) { ++ticks; });
    CHECK(ticks <= (monotonic_ns() - wall_begin) / 1'000'000 + 1);
}

TEST_CASE("what there is no room for is counted") {
    auto clock = TaskClock::open(0, 100us);
    if (is_refused(clock)) return;
    // There is room for a twentieth of these ticks.
    const auto begin = thread_ns();
    while (thread_ns() - begin < 500'000'000) spin_for(200'000);
    std::uint64_t taken = 0;
    clock->take([&](GuestAddress) { ++taken; });
    CHECK(taken <= TaskClock::ticks_held());
    if (taken + 8 < TaskClock::ticks_held()) return;  // a host that records few ticks
    // The kernel reports lost ticks with the next record that has room.
    const auto again = thread_ns();
    while (clock->lost() == 0 && thread_ns() - again < 1'000'000'000) {
        spin_for(200'000);
        clock->take([](GuestAddress) {});
    }
    CHECK(clock->lost() > 0);
}

TEST_CASE("a process that stands still has no ticks, one that has ended no clock") {
    TestHub hub;
    pid_t pid = 0;
    {
        Child child(hub, [] {
            while (true) ::pause();
            return 0;
        });
        pid = child.pid();
        REQUIRE(wait_until([&] { return is_asleep(pid); }));
        auto clock = TaskClock::open(pid, period);
        if (is_refused(clock)) return;
        std::this_thread::sleep_for(20ms);
        clock->take([](GuestAddress) { FAIL("it stands still"); });
    }
    const auto none = TaskClock::open(pid, period);
    REQUIRE(!none);
    CHECK(none.error().code == ErrorCode::gone);
}

}  // namespace shadowprof::task_clock_test
