#include "guest_kernel/forward/guest_futexes.h"

#include <doctest/doctest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>

#include "base/clock.h"
#include "emu/guest/guest_memory.h"
#include "emu/guest/test_process.h"

namespace shadowprof::guest_futexes_test {
namespace {

using State = GuestThreads::State;

constexpr GuestAddress first = TestProcess::base + 0x2000, second = first + 64;
constexpr std::uint64_t time_at = TestProcess::base.value + 0x3000;

struct Guest {
    TestProcess process;
    GuestMemory memory;
    GuestThreads threads;
    GuestFutexes futexes{read_clock_ns};

    explicit Guest(std::size_t count) {
        const MemoryMap map({TestProcess::mapping(0, TestProcess::pages)});
        REQUIRE(memory.begin(map, process, PageUse::tracked));
        for (std::size_t i = 0; i < count; ++i) threads.add({}, true);
        threads.begin({.instructions = 1 << 30, .lasting_threads = true});
        REQUIRE(threads.next());
    }
    void turn_to(GuestThreads::Index thread) {
        while (threads.current() != thread) {
            threads.ran(1000);
            threads.yield();
            REQUIRE(threads.next());
        }
    }
    std::int64_t call(std::uint64_t operation, GuestAddress word, std::uint64_t value,
                      std::uint64_t fourth = 0, GuestAddress other = {}, std::uint64_t last = 0) {
        const auto result = futexes.call(
            SYS_futex, {word.value, operation, value, fourth, other.value, last}, threads, memory);
        REQUIRE(result);
        return *result;
    }
    // Lets a thread wait on a word that has the value 0.
    void wait(GuestThreads::Index thread, GuestAddress word, std::uint64_t bits = ~0u) {
        turn_to(thread);
        CHECK(call(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, word, 0, 0, {}, bits) == 0);
        REQUIRE(threads.waits(thread));
        REQUIRE(threads.next());
    }
    std::uint32_t word(GuestAddress at) { return *read_value<std::uint32_t>(memory, at); }
    void set(GuestAddress at, std::uint32_t value) { REQUIRE(guest_store(memory, at, value)); }
};

}  // namespace

TEST_CASE("who waits is woken in the order of waiting") {
    Guest g(4);
    g.wait(2, first);
    g.wait(0, first);
    g.wait(1, second);
    CHECK(g.threads.current() == 3);
    CHECK(g.call(FUTEX_WAKE, first, 1) == 1);
    CHECK(g.threads.state(2) == State::runs);
    CHECK(g.threads.waits(0));
    CHECK(g.call(FUTEX_WAKE, first, 10) == 1);
    CHECK(g.call(FUTEX_WAKE, first, 10) == 0);
    CHECK(g.threads.waits(1));
}

TEST_CASE("a word with another value is not waited for") {
    Guest g(2);
    g.set(first, 7);
    CHECK(g.call(FUTEX_WAIT, first, 6) == -EAGAIN);
    CHECK(g.call(FUTEX_WAIT, first + 1, 7) == -EINVAL);
    CHECK(g.call(FUTEX_WAIT, {0x10}, 7) == -EFAULT);
    CHECK(g.call(FUTEX_WAIT_BITSET, first, 7) == -EINVAL);
    CHECK(g.threads.state(0) == State::runs);
}

TEST_CASE("bits choose who is woken") {
    Guest g(3);
    g.wait(0, first, 1);
    g.wait(1, first, 2);
    g.turn_to(2);
    CHECK(g.call(FUTEX_WAKE_BITSET, first, 10, 0, {}, 4) == 0);
    CHECK(g.call(FUTEX_WAKE_BITSET, first, 10, 0, {}, 2) == 1);
    CHECK(g.threads.waits(0));
    CHECK(g.threads.state(1) == State::runs);
}

TEST_CASE("waiters are moved to another word") {
    Guest g(4);
    for (const GuestThreads::Index thread : {0u, 1u, 2u}) g.wait(thread, first);
    g.turn_to(3);
    CHECK(g.call(FUTEX_CMP_REQUEUE, first, 1, 1, second, 5) == -EAGAIN);
    CHECK(g.call(FUTEX_CMP_REQUEUE, first, 1, 1, second, 0) == 2);
    CHECK(g.threads.state(0) == State::runs);
    CHECK(g.call(FUTEX_WAKE, second, 9) == 1);
    CHECK(g.threads.state(1) == State::runs);
    CHECK(g.threads.waits(2));
}

TEST_CASE("an operation on a second word decides whether its waiters are woken") {
    Guest g(3);
    g.wait(0, first);
    g.wait(1, second);
    g.turn_to(2);
    g.set(second, 3);
    const auto add_two_if_three = FUTEX_OP(FUTEX_OP_ADD, 2, FUTEX_OP_CMP_EQ, 3);
    CHECK(g.call(FUTEX_WAKE_OP, first, 1, 1, second,
                 static_cast<std::uint32_t>(add_two_if_three)) == 2);
    CHECK(g.word(second) == 5);
    const auto minus_one_if_less = FUTEX_OP(FUTEX_OP_ADD, -1, FUTEX_OP_CMP_LT, 5);
    CHECK(g.call(FUTEX_WAKE_OP, first, 1, 1, second,
                 static_cast<std::uint32_t>(minus_one_if_less)) == 0);
    CHECK(g.word(second) == 4);
}

TEST_CASE("a wait ends with its time") {
    Guest g(2);
    g.turn_to(0);
    REQUIRE(guest_store(g.memory, GuestAddress{time_at}, timespec{100, 0}));
    CHECK(g.call(FUTEX_WAIT, first, 0, time_at) == 0);
    const auto now_ns = read_clock_ns(CLOCK_MONOTONIC);
    const auto deadline_ns = g.futexes.first_deadline_ns();
    REQUIRE(deadline_ns);
    CHECK(*deadline_ns <= now_ns + 100'000'000'000);
    CHECK(*deadline_ns > now_ns);
    g.futexes.wake_late(*deadline_ns - 1, g.threads);
    CHECK(g.threads.waits(0));
    g.futexes.wake_late(*deadline_ns, g.threads);
    CHECK(g.threads.state(0) == State::runs);
    CHECK(static_cast<std::int64_t>(g.threads.cpu(0)[Gpr::rax]) == -ETIMEDOUT);
    CHECK_FALSE(g.futexes.first_deadline_ns());
    REQUIRE(guest_store(g.memory, GuestAddress{time_at}, timespec{0, 1'000'000'000}));
    CHECK(g.call(FUTEX_WAIT, first, 0, time_at) == -EINVAL);
}

TEST_CASE("the kernel makes calls about locks with priority inheritance and shared memory") {
    Guest g(2);
    CHECK_FALSE(
        g.futexes.call(SYS_futex, {first.value, FUTEX_LOCK_PI, 0, 0, 0, 0}, g.threads, g.memory));
    auto shared = TestProcess::mapping(0, TestProcess::pages);
    shared.shared = true;
    GuestMemory memory;
    REQUIRE(memory.begin(MemoryMap({shared}), g.process, PageUse::tracked));
    CHECK_FALSE(
        g.futexes.call(SYS_futex, {first.value, FUTEX_WAKE, 1, 0, 0, 0}, g.threads, memory));
}

TEST_CASE("at a thread's end its joiner and those behind its robust locks are woken") {
    Guest g(4);
    constexpr std::int64_t tid = 1234;
    g.wait(0, second);
    g.set(second, tid);
    g.futexes.clear(second, g.threads, g.memory);
    CHECK(g.word(second) == 0);
    CHECK(g.threads.state(0) == State::runs);

    // Two locks in the list, one of which is another thread's by now.
    const auto head = first + 256, lock = first + 512, other = first + 768;
    constexpr std::uint64_t word_offset = 32;
    g.wait(1, lock + word_offset);
    g.set(lock + word_offset, static_cast<std::uint32_t>(tid) | FUTEX_WAITERS);
    g.set(other + word_offset, 99);
    const auto link = [&](GuestAddress at, std::uint64_t value) {
        REQUIRE(guest_store(g.memory, at, value));
    };
    link(head, lock.value);
    link(head + 8, word_offset);
    link(head + 16, 0);
    link(lock, other.value);
    link(other, head.value);
    g.futexes.leave_robust_list(head, tid, g.threads, g.memory);
    CHECK(g.word(lock + word_offset) == (FUTEX_WAITERS | FUTEX_OWNER_DIED));
    CHECK(g.word(other + word_offset) == 99);
    CHECK(g.threads.state(1) == State::runs);
    // A list that leads nowhere ends.
    link(other, other.value);
    g.futexes.leave_robust_list(head, tid, g.threads, g.memory);
}

}  // namespace shadowprof::guest_futexes_test
