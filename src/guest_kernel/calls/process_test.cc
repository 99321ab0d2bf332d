#include <asm/prctl.h>
#include <doctest/doctest.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

#include "guest_kernel/test_support.h"

namespace shadowprof::guest_process_test {
namespace {

constexpr std::uint64_t data = FakeGuest::data;

struct Guest {
    FakeEnvironment outside;
    FakeGuest guest{outside};

    std::int64_t vdso(VdsoFunction function, std::uint64_t a, std::uint64_t b) {
        guest.cpu[Gpr::rdi] = a;
        guest.cpu[Gpr::rsi] = b;
        guest.end = guest.emulator.on_vdso(function, guest.threads, guest.space, guest.elapsed_ns);
        return static_cast<std::int64_t>(guest.cpu[Gpr::rax]);
    }
};

}  // namespace

TEST_CASE("ids are the snapshot's") {
    Guest g;
    CHECK(g.guest.call(SYS_getpid) == 4711);
    CHECK(g.guest.call(SYS_gettid) == 4711);
    CHECK(g.guest.call(SYS_getppid) == 4000);
    CHECK(g.guest.call(SYS_getuid) == 1000);
    CHECK(g.guest.call(SYS_getresuid, data, data + 4, data + 8) == 0);
    CHECK(g.guest.value<int>(data + 4) == 1000);
    CHECK(g.guest.call(SYS_getresuid, data, 8, 8) == -EFAULT);
    g.guest.call(SYS_getpgid, 1);
    CHECK(g.guest.end == SampleEnd::unsafe_syscall);
}

TEST_CASE("time is the snapshot's and moves with the guest") {
    Guest g;
    g.guest.elapsed_ns = 5'000'000;
    for (int clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI}) {
        std::int64_t start = (clock + 1) * 1000ll;
        CHECK(g.guest.call(SYS_clock_gettime, static_cast<unsigned>(clock), data) == 0);
        CHECK(g.guest.value<timespec>(data).tv_sec == start);
        CHECK(g.guest.value<timespec>(data).tv_nsec == 5'000'000);
        CHECK(g.vdso(VdsoFunction::clock_gettime, static_cast<unsigned>(clock), data + 64) == 0);
        CHECK(g.guest.text(data, 16) == g.guest.text(data + 64, 16));
    }
    // Coarse clocks advance in ticks.
    CHECK(g.guest.call(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, data) == 0);
    CHECK(g.guest.value<timespec>(data).tv_nsec == 4'000'000);
    CHECK(g.vdso(VdsoFunction::time, 0, 0) == 6000);
    CHECK(g.vdso(VdsoFunction::clock_gettime, 77, data) == -EINVAL);
    CHECK(g.vdso(VdsoFunction::clock_gettime, 10, data) == -EINVAL);
    // The process's own processor-time clock, with the id from clock_getcpuclockid(3).
    auto own = static_cast<std::uint32_t>(~4711) << 3 | 2;
    CHECK(g.guest.call(SYS_clock_gettime, own, data) == 0);
    CHECK(g.guest.value<timespec>(data).tv_sec == 3000);
}

TEST_CASE("a bad address faults in the vDSO and is EFAULT in the kernel") {
    Guest g;
    CHECK(g.guest.call(SYS_clock_gettime, CLOCK_MONOTONIC, 8) == -EFAULT);
    CHECK(!g.guest.end);
    g.vdso(VdsoFunction::clock_gettime, CLOCK_MONOTONIC, 8);
    CHECK(g.guest.end == SampleEnd::fault);
}

TEST_CASE("waiting ends the sample as idle, a futex that changed does not") {
    Guest g;
    g.guest.put_value(std::uint32_t{5});
    CHECK(g.guest.call(SYS_futex, data, FUTEX_WAIT_PRIVATE, 4) == -EAGAIN);
    CHECK(g.guest.call(SYS_futex, data, FUTEX_WAKE_PRIVATE, 1) == 0);
    CHECK(g.guest.call(SYS_futex, data + 1, FUTEX_WAIT, 5) == -EINVAL);
    CHECK(!g.guest.end);
    g.guest.call(SYS_futex, data, FUTEX_WAIT_PRIVATE, 5);
    CHECK(g.guest.end == SampleEnd::idle);
    timespec second{1, 0};
    g.guest.call(SYS_nanosleep, g.guest.put_value(second));
    CHECK(g.guest.end == SampleEnd::idle);
    timespec bad{0, 2'000'000'000};
    CHECK(g.guest.call(SYS_nanosleep, g.guest.put_value(bad)) == -EINVAL);
    // An absolute time in the past.
    CHECK(g.guest.call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME,
                       g.guest.put_value(second)) == 0);
}

TEST_CASE("poll knows files and output, not input") {
    Guest g;
    g.outside.add_file("/home/user/f", "x");
    g.outside.add_descriptor(3, "/home/user/f", 0);
    g.outside.add_special(4, S_IFIFO, O_RDWR);
    pollfd entries[] = {{3, POLLIN, 0}, {4, POLLOUT, 0}, {9, POLLIN, 0}, {-1, POLLIN, 0}};
    CHECK(g.guest.call(SYS_poll, g.guest.put_value(entries), 4, ~0u) == 3);
    CHECK(g.guest.value<pollfd>(data + 8).revents == POLLOUT);
    CHECK(g.guest.value<pollfd>(data + 16).revents == POLLNVAL);
    std::uint64_t sets[] = {1 << 3, 1 << 4};
    g.guest.put_value(sets);
    CHECK(g.guest.call(SYS_select, 5, data, data + 8, 0, 0) == 2);
    entries[1].events = POLLIN;
    g.guest.call(SYS_poll, g.guest.put_value(entries), 2, 0);
    CHECK(g.guest.end == SampleEnd::input);
}

TEST_CASE("signal dispositions are virtual, and unknown where a handler was set before") {
    Guest g;
    g.outside.process.ignored_signals = 1u << (SIGPIPE - 1);
    g.outside.process.caught_signals = 1u << (SIGINT - 1);
    CHECK(g.guest.call(SYS_rt_sigaction, SIGPIPE, 0, data, 8) == 0);
    CHECK(g.guest.value<std::uint64_t>(data) == 1);
    SignalAction action{0x401000, 4, 0x402000, ~0ull};
    CHECK(g.guest.call(SYS_rt_sigaction, SIGTERM, g.guest.put_value(action), data + 64, 8) == 0);
    CHECK(g.guest.value<std::uint64_t>(data + 64) == 0);
    CHECK(g.guest.call(SYS_rt_sigaction, SIGTERM, 0, data, 8) == 0);
    CHECK(g.guest.value<std::uint64_t>(data) == 0x401000);
    CHECK(g.guest.call(SYS_rt_sigaction, SIGKILL, data, 0, 8) == -EINVAL);
    CHECK(g.guest.call(SYS_rt_sigaction, 65, data, 0, 8) == -EINVAL);
    g.guest.call(SYS_rt_sigaction, SIGINT, 0, data, 8);
    CHECK(g.guest.end == SampleEnd::unsafe_syscall);
}

TEST_CASE("the signal mask is virtual; unblocking a pending signal ends the sample") {
    Guest g;
    g.outside.process.blocked_signals = 2;
    std::uint64_t all = ~0ull;
    CHECK(g.guest.call(SYS_rt_sigprocmask, SIG_SETMASK, g.guest.put_value(all), data + 8, 8) == 0);
    CHECK(g.guest.value<std::uint64_t>(data + 8) == 2);
    CHECK(g.guest.call(SYS_rt_sigprocmask, SIG_BLOCK, 0, data + 8, 8) == 0);
    CHECK(g.guest.value<std::uint64_t>(data + 8) == ~(1ull << 8 | 1ull << 18));
    CHECK(g.guest.call(SYS_rt_sigprocmask, 9, data, 0, 8) == -EINVAL);
    Guest h;
    h.outside.process.blocked_signals = h.outside.process.pending_signals = 2;
    std::uint64_t none = 0;
    h.guest.call(SYS_rt_sigprocmask, SIG_SETMASK, h.guest.put_value(none), 0, 8);
    CHECK(h.guest.end == SampleEnd::unsafe_syscall);
}

TEST_CASE("limits can be asked and lowered in the sample") {
    Guest g;
    CHECK(g.guest.call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, data) == 0);
    CHECK(g.guest.value<rlimit>(data).rlim_cur == 1024);
    rlimit lower{10, 4096};
    CHECK(g.guest.call(SYS_setrlimit, RLIMIT_NOFILE, g.guest.put_value(lower)) == 0);
    CHECK(g.guest.call(SYS_getrlimit, RLIMIT_NOFILE, data) == 0);
    CHECK(g.guest.value<rlimit>(data).rlim_cur == 10);
    CHECK(g.guest.call(SYS_getrlimit, 99, data) == -EINVAL);
}

TEST_CASE("registers that only system calls reach") {
    Guest g;
    CHECK(g.guest.call(SYS_arch_prctl, ARCH_SET_FS, 0x7ffff7d80740) == 0);
    CHECK(g.guest.cpu.fs_base == 0x7ffff7d80740);
    CHECK(g.guest.call(SYS_arch_prctl, ARCH_GET_FS, data) == 0);
    CHECK(g.guest.value<std::uint64_t>(data) == 0x7ffff7d80740);
    CHECK(g.guest.call(SYS_arch_prctl, ARCH_SET_GS, 1ull << 63) == -EPERM);
}

TEST_CASE("random bytes repeat with the seed and fill the buffer") {
    FakeEnvironment outside;
    FakeGuest a(outside, {.random_seed = 1}), b(outside, {.random_seed = 1}),
        c(outside, {.random_seed = 2});
    for (FakeGuest* each : {&a, &b, &c}) CHECK(each->call(SYS_getrandom, data, 100, 0) == 100);
    CHECK(a.text(data, 100) == b.text(data, 100));
    CHECK(a.text(data, 100) != c.text(data, 100));
    CHECK(a.text(data + 92, 8) != std::string(8, '\0'));
    CHECK(a.call(SYS_getrandom, data, 8, 0x100) == -EINVAL);
}

TEST_CASE("names: the thread's can be changed, the kernel's not") {
    Guest g;
    CHECK(g.guest.call(SYS_prctl, PR_GET_NAME, data) == 0);
    CHECK(g.guest.text(data, 8) == std::string("program\0", 8));
    CHECK(g.guest.call(SYS_prctl, PR_SET_NAME, g.guest.put_string("a name that is too long")) == 0);
    CHECK(g.guest.call(SYS_prctl, PR_GET_NAME, data) == 0);
    CHECK(g.guest.text(data, 16) == std::string("a name that is \0", 16));
}

TEST_CASE("each class does what it says at the end of a sample") {
    struct Expectation {
        long number;
        std::optional<SampleEnd> end;
    };
    for (const Expectation& expected :
         {Expectation{SYS_fork, SampleEnd::unsafe_syscall},
          Expectation{SYS_execve, SampleEnd::unsafe_syscall},
          Expectation{SYS_kill, SampleEnd::unsafe_syscall},
          Expectation{SYS_exit_group, SampleEnd::exit}, Expectation{SYS_exit, SampleEnd::exit},
          Expectation{SYS_wait4, SampleEnd::idle}, Expectation{SYS_epoll_wait, SampleEnd::input},
          Expectation{SYS_sync, std::nullopt}, Expectation{SYS_getpid, std::nullopt}}) {
        Guest g;
        CAPTURE(expected.number);
        g.guest.call(expected.number);
        CHECK(g.guest.end == expected.end);
        CHECK(g.guest.emulator.end_reason().empty() == !expected.end.has_value());
    }
}

TEST_CASE("calls are counted by number, unknown ones are ENOSYS") {
    Guest g;
    g.guest.call(SYS_getpid);
    g.guest.call(SYS_getpid);
    g.guest.call(SYS_fork);
    CHECK(g.guest.call(400) == -ENOSYS);
    CHECK(g.guest.call(0x40000000) == -ENOSYS);
    const SyscallCounts& counts = g.guest.emulator.counts();
    CHECK(counts.by_number[SYS_getpid] == 2);
    CHECK(counts.by_number[SYS_fork] == 1);
    CHECK(counts.unknown == 2);
}

}  // namespace shadowprof::guest_process_test
