// Threads of a sample that wait for each other, wake, start and end.
#include <doctest/doctest.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "guest_kernel/test_support.h"

namespace shadowprof::guest_threads_test {
namespace {

constexpr std::uint64_t data = FakeGuest::data;
constexpr std::uint64_t thread_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                       CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                                       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

// The thread whose turn it is makes the calls.
class Threads {
  public:
    explicit Threads(const SampleRules& rules = {}) : guest(outside, rules) {
        guest.threads.begin({.instructions = 1'000'000, .processors = 4, .seed = 1});
    }

    // Adds a thread that has waited on the futex at `address` since before the snapshot.
    GuestThreads::Index add_waiter(std::uint64_t address, std::uint64_t operation = FUTEX_WAIT,
                                   std::uint64_t bits = 0) {
        CpuState cpu;
        cpu[Gpr::rdi] = address;
        cpu[Gpr::rsi] = operation;
        cpu[Gpr::r9] = bits;
        cpu[Gpr::rax] = static_cast<std::uint64_t>(-512);
        return *guest.threads.add(cpu, false);
    }
    bool waits(GuestThreads::Index thread) const { return guest.threads.waits(thread); }
    // Lets the other of two threads go on.
    void turn() {
        guest.threads.ran(1000);
        guest.threads.yield();
        REQUIRE(guest.threads.next());
    }

    FakeEnvironment outside;
    FakeGuest guest;
};

}  // namespace

TEST_CASE("a wake reaches those that waited before the snapshot, the first ones first") {
    Threads t;
    const auto a = t.add_waiter(data), elsewhere = t.add_waiter(data + 4);
    const auto b = t.add_waiter(data, FUTEX_WAIT | FUTEX_PRIVATE_FLAG);
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE, 1) == 1);
    CHECK_FALSE(t.waits(a));
    CHECK(t.guest.threads.cpu(a)[Gpr::rax] == 0);
    CHECK(t.waits(b));
    CHECK(t.waits(elsewhere));
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE_PRIVATE, ~0u) == 1);
    CHECK_FALSE(t.waits(b));
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE, 1) == 0);
    CHECK(t.waits(elsewhere));
}

TEST_CASE("bits choose among the waiters") {
    Threads t;
    const auto odd = t.add_waiter(data, FUTEX_WAIT_BITSET, 1);
    const auto even = t.add_waiter(data, FUTEX_WAIT_BITSET, 2);
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE_BITSET, 9, 0, 0, 2) == 1);
    CHECK(t.waits(odd));
    CHECK_FALSE(t.waits(even));
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE_BITSET, 9, 0, 0, 0) == -EINVAL);
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE, 9) == 1);
}

TEST_CASE("a requeue wakes some and moves the others") {
    Threads t;
    t.guest.put_value(std::uint32_t{7});
    const auto a = t.add_waiter(data), b = t.add_waiter(data), c = t.add_waiter(data);
    CHECK(t.guest.call(SYS_futex, data, FUTEX_CMP_REQUEUE, 1, 1, data + 8, 6) == -EAGAIN);
    CHECK(t.guest.call(SYS_futex, data, FUTEX_CMP_REQUEUE, 1, 1, data + 8, 7) == 2);
    CHECK_FALSE(t.waits(a));
    CHECK(t.guest.call(SYS_futex, data + 8, FUTEX_WAKE, 9) == 1);
    CHECK_FALSE(t.waits(b));
    CHECK(t.waits(c));
}

TEST_CASE("a thread that waits stops, and goes on when another one wakes it") {
    Threads t;
    t.guest.put_value(std::uint32_t{5});
    t.guest.threads.add({}, true);
    REQUIRE(t.guest.threads.next());
    const auto waiter = t.guest.threads.current();
    t.guest.call(SYS_futex, data, FUTEX_WAIT, 5);
    CHECK_FALSE(t.guest.end);
    CHECK(t.waits(waiter));
    REQUIRE(t.guest.threads.next());
    CHECK(t.guest.threads.current() != waiter);
    CHECK(t.guest.call(SYS_futex, data, FUTEX_WAKE, 1) == 1);
    CHECK_FALSE(t.waits(waiter));
    CHECK(t.guest.threads.cpu(waiter)[Gpr::rax] == 0);
}

TEST_CASE("clone starts a thread with what it was given, and its end wakes who joins it") {
    Threads t;
    t.guest.threads.cpu()[Gpr::rbx] = 42;
    const auto tid = t.guest.call(SYS_clone, thread_flags, data + 0x800, data, data + 4, 0x7777);
    REQUIRE(tid > 0);
    CHECK(t.guest.value<std::int32_t>(data) == tid);
    REQUIRE(t.guest.threads.size() == 2);
    const auto& child = t.guest.threads.cpu(1);
    CHECK(child[Gpr::rax] == 0);
    CHECK(child[Gpr::rbx] == 42);
    CHECK(child[Gpr::rsp] == data + 0x800);
    CHECK(child.fs_base == 0x7777);
    CHECK(t.guest.call(SYS_gettid) == 4711);

    // The parent joins it: the C library waits until the cleared word becomes 0.
    t.guest.put_value(static_cast<std::int32_t>(tid), data + 4);
    REQUIRE(t.guest.threads.next());
    if (t.guest.threads.current() != 0) t.turn();
    t.guest.call(SYS_futex, data + 4, FUTEX_WAIT, static_cast<std::uint64_t>(tid));
    CHECK(t.waits(0));
    REQUIRE(t.guest.threads.next());
    CHECK(t.guest.call(SYS_gettid) == tid);
    CHECK(t.guest.call(SYS_getpid) == 4711);
    t.guest.call(SYS_exit, 0);
    CHECK_FALSE(t.guest.end);
    CHECK(t.guest.value<std::int32_t>(data + 4) == 0);
    CHECK_FALSE(t.waits(0));
    REQUIRE(t.guest.threads.next());
    CHECK(t.guest.threads.current() == 0);
}

TEST_CASE("clone3 starts a thread") {
    Threads t;
    const std::uint64_t arguments[] = {thread_flags, 0,    data + 4, data, 0,
                                       data + 256,   1024, 0x7777};
    t.guest.put_value(arguments, data + 64);
    CHECK(t.guest.call(SYS_clone3, data + 64, 8) == -EINVAL);
    REQUIRE(t.guest.call(SYS_clone3, data + 64, sizeof arguments) > 0);
    CHECK(t.guest.threads.cpu(1)[Gpr::rsp] == data + 256 + 1024);
    CHECK(t.guest.threads.cpu(1).fs_base == 0x7777);
}

TEST_CASE("threads that a sample starts can be left out of it") {
    Threads t({.follows_new_threads = false});
    const auto first = t.guest.call(SYS_clone, thread_flags, data + 0x800, data, data + 4);
    CHECK(t.guest.value<std::int32_t>(data) == first);
    const auto second = t.guest.call(SYS_clone, thread_flags, data + 0x800, data, data + 4);
    CHECK(second > first);
    CHECK(t.guest.threads.size() == 1);
    CHECK_FALSE(t.guest.end);

    // A thread that joins one cannot go on.
    t.guest.put_value(static_cast<std::int32_t>(first), data + 4);
    t.guest.call(SYS_futex, data + 4, FUTEX_WAIT, static_cast<std::uint64_t>(first));
    CHECK(t.guest.end == SampleEnd::idle);
}

TEST_CASE("processes are not started") {
    Threads t;
    t.guest.call(SYS_clone, SIGCHLD);
    CHECK(t.guest.end == SampleEnd::unsafe_syscall);
    t.guest.call(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, data);
    CHECK(t.guest.end == SampleEnd::unsafe_syscall);
    t.guest.call(SYS_clone, thread_flags | CLONE_NEWNS, data);
    CHECK(t.guest.end == SampleEnd::unsafe_syscall);
    CHECK(t.guest.threads.size() == 1);
}

TEST_CASE("who joins a thread from before the snapshot is found by the word that it waits on") {
    Threads t;
    t.guest.put_value(std::int32_t{4711}, data + 16);
    t.guest.put_value(std::int32_t{4712}, data + 20);
    const auto other = t.add_waiter(data + 20), joiner = t.add_waiter(data + 16);
    t.guest.call(SYS_exit, 0);
    CHECK_FALSE(t.guest.end);
    CHECK_FALSE(t.waits(joiner));
    CHECK(t.waits(other));
    CHECK(t.guest.value<std::int32_t>(data + 16) == 0);
}

TEST_CASE("the end of the only thread, or of the process, ends the sample") {
    Threads t;
    t.guest.call(SYS_exit, 0);
    CHECK(t.guest.end == SampleEnd::exit);
    t.guest.threads.add({}, true);
    t.guest.call(SYS_exit_group, 0);
    CHECK(t.guest.end == SampleEnd::exit);
}

TEST_CASE("signal masks and names are a thread's own") {
    Threads t;
    const std::uint64_t mask = 0xff;
    t.guest.put_value(mask, data + 32);
    t.guest.threads.add({}, true);
    REQUIRE(t.guest.threads.next());
    CHECK(t.guest.call(SYS_rt_sigprocmask, 0, data + 32, 0, 8) == 0);
    t.turn();
    CHECK(t.guest.call(SYS_rt_sigprocmask, 0, 0, data + 40, 8) == 0);
    CHECK(t.guest.value<std::uint64_t>(data + 40) == 0);
    t.turn();
    CHECK(t.guest.call(SYS_rt_sigprocmask, 0, 0, data + 40, 8) == 0);
    CHECK(t.guest.value<std::uint64_t>(data + 40) == mask);
}

}  // namespace shadowprof::guest_threads_test
