#include "guest_kernel/forward/wait_times.h"

#include <doctest/doctest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <cerrno>

#include "emu/guest/guest_memory.h"
#include "emu/guest/test_process.h"

namespace shadowprof::wait_times_test {
namespace {

constexpr GuestAddress place = TestProcess::base + 0x2000;

struct Guest {
    TestProcess process;
    GuestMemory memory;

    Guest() {
        const MemoryMap map({TestProcess::mapping(0, TestProcess::pages)});
        REQUIRE(memory.begin(map, process, PageUse::tracked));
    }
    std::optional<std::int64_t> wait_ns(std::uint32_t number, const CallArguments& arguments) {
        return longest_wait_ns(number, arguments, memory);
    }
    void store(const auto& value) { REQUIRE(guest_store(memory, place, value)); }
};

TEST_CASE("how long a call waits stands in an argument or in memory") {
    Guest g;
    CHECK(g.wait_ns(SYS_poll, {0, 0, 30}) == 30'000'000);
    CHECK(g.wait_ns(SYS_epoll_wait, {3, 0, 1, 7}) == 7'000'000);
    g.store(timespec{2, 5});
    CHECK(g.wait_ns(SYS_nanosleep, {place.value}) == 2'000'000'005);
    CHECK(g.wait_ns(SYS_clock_nanosleep, {CLOCK_MONOTONIC, 0, place.value}) == 2'000'000'005);
    CHECK(g.wait_ns(SYS_ppoll, {0, 0, place.value}) == 2'000'000'005);
    CHECK(g.wait_ns(SYS_futex, {0, FUTEX_WAIT, 0, place.value}) == 2'000'000'005);
    g.store(timeval{1, 2'000'003});
    CHECK(g.wait_ns(SYS_select, {0, 0, 0, 0, place.value}) == 3'000'003'000);
}

TEST_CASE("some calls wait without limit, for a moment, or not at all") {
    Guest g;
    g.store(timespec{2, 5});
    CHECK_FALSE(g.wait_ns(SYS_poll, {0, 0, ~std::uint64_t{0}}));
    CHECK_FALSE(g.wait_ns(SYS_ppoll, {0, 0, 0}));
    CHECK_FALSE(g.wait_ns(SYS_clock_nanosleep, {CLOCK_MONOTONIC, TIMER_ABSTIME, place.value}));
    CHECK_FALSE(g.wait_ns(SYS_futex, {0, FUTEX_WAIT_BITSET, 0, place.value}));
    CHECK_FALSE(g.wait_ns(SYS_read, {0, place.value, 5}));
    g.store(timespec{2, -5});
    CHECK_FALSE(g.wait_ns(SYS_nanosleep, {place.value}));
    CHECK_FALSE(g.wait_ns(SYS_nanosleep, {0x10}));
    g.store(timespec{std::int64_t{1} << 62, 0});
    CHECK(g.wait_ns(SYS_nanosleep, {place.value}) == 1'000'000'000'000'000'000);
}

TEST_CASE("a call whose time is over returns what the kernel says then") {
    CHECK(timed_out(SYS_poll) == 0);
    CHECK(timed_out(SYS_futex) == static_cast<std::uint64_t>(-ETIMEDOUT));
    CHECK(timed_out(SYS_rt_sigtimedwait) == static_cast<std::uint64_t>(-EAGAIN));
}

}  // namespace
}  // namespace shadowprof::wait_times_test
