#include "ptrace/remote/remote_syscall.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <vector>

#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "ptrace/test_support.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof::remote_syscall_test {
namespace {

struct Facts {
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<bool> ready{false}, stop{false};
    std::atomic<std::uint32_t> futex{0};
    std::atomic<long> result{-1000};
    std::atomic<int> error_number{0};
};

// All registers of a thread.
struct Registers {
    user_regs_struct general{};
    std::vector<std::byte> extended;

    bool operator==(const Registers& other) const {
        return std::memcmp(&general, &other.general, sizeof general) == 0 &&
               extended == other.extended;
    }
};

Registers registers_of(StoppedThread& thread) {
    Registers result;
    auto general = thread.registers();
    result.general = need(general);
    result.extended.resize(max_xstate_bytes);
    auto extended = thread.extended_state(result.extended);
    result.extended.resize(need(extended).size());
    return result;
}

Result<std::int64_t> inject(ScopedStop& stop, std::uint64_t number) {
    TRY_ASSIGN(const GuestAddress instruction, stop.target().syscall_instruction());
    TRY_ASSIGN(auto session, RemoteSyscall::begin(stop.threads().front(), instruction));
    TRY_ASSIGN(const std::int64_t result, session.call(number));
    TRY(session.finish());
    return result;
}

int tick_until_stopped(Facts& facts) {
    while (!facts.stop) ++facts.ticks;
    return 0;
}

// Runs `blocking_call` in a child, injects calls while it blocks, then ends it by `wake`. Without
// `wake` the call ends by its time-out. Returns false if that came too soon.
bool check_restart(const std::function<long(Facts&)>& blocking_call, std::uint64_t syscall_number,
                   const std::function<void(Facts&)>& wake, long expected_result) {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        facts->ready = true;
        const long result = blocking_call(*facts);
        facts->error_number = errno;
        facts->result = result;
        facts->stop = true;
        return 0;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    const auto is_in_call_or_behind = [&] {
        return (facts->ready && is_asleep(child.pid())) || facts->stop;
    };
    bool ended = false;
    for (int i = 0; i < 10 && !ended; ++i) {
        REQUIRE(pump_until(hub, **target, is_in_call_or_behind));
        auto stop = (*target)->stop();
        ended = !wake && (!stop || stop->threads().empty());
        if (ended) break;
        REQUIRE(need(stop).threads().size() == 1);
        auto before = stop->threads().front().snapshot();
        const auto number = need(before).blocked_syscall;
        // Calls with a time-out that were interrupted before are restarted under another number.
        const bool in_call = number == syscall_number || number == SYS_restart_syscall;
        ended = !wake && !in_call;
        if (ended) break;
        CHECK(in_call);
        auto pid = inject(*stop, SYS_getpid);
        CHECK(need(pid) == child.pid());
        auto after = stop->threads().front().snapshot();
        CHECK(need(after).blocked_syscall == number);
    }
    REQUIRE(pump_until(hub, **target, is_in_call_or_behind));
    if (wake) {
        CHECK_MESSAGE(facts->result == -1000, "it returned, errno ", facts->error_number.load());
        wake(*facts);
    }
    REQUIRE(pump_to_end(hub, **target));
    CHECK_MESSAGE(facts->result == expected_result, "errno ", facts->error_number.load());
    return !ended;
}

// Returns 0 if it has slept for all of `time`.
long sleep_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    const timespec duration{.tv_sec = time.count() / 1000,
                            .tv_nsec = time.count() % 1000 * 1'000'000};
    const int result = ::nanosleep(&duration, nullptr);
    return std::chrono::steady_clock::now() < end ? -2 : result;
}

}  // namespace

TEST_CASE("an injected call gives its answer and leaves every register as it was") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        if (__builtin_cpu_supports("avx2"))
            asm volatile("vpcmpeqd %%ymm11, %%ymm11, %%ymm11" ::: "xmm11");
        asm volatile("pcmpeqd %%xmm9, %%xmm9; fldpi" ::: "xmm9", "st");
        return tick_until_stopped(*facts);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return facts->ticks > 0; }));
    auto stop = (*target)->stop();
    StoppedThread& thread = need(stop).threads().front();
    const Registers before = registers_of(thread);
    auto mask_before = thread.signal_mask();
    auto pid = inject(*stop, SYS_getpid);
    CHECK(need(pid) == child.pid());
    auto parent = inject(*stop, SYS_getppid);
    CHECK(need(parent) == ::getpid());
    CHECK(registers_of(thread) == before);
    auto mask_after = thread.signal_mask();
    CHECK(need(mask_after) == need(mask_before));

    SUBCASE("a changed general register would have been seen") {
        user_regs_struct changed = before.general;
        changed.r13 ^= 1;
        REQUIRE(thread.set_registers(changed));
        CHECK(!(registers_of(thread) == before));
        REQUIRE(thread.set_registers(before.general));
    }
    SUBCASE("a changed orig_rax would have been seen") {
        user_regs_struct changed = before.general;
        changed.orig_rax = SYS_read;
        REQUIRE(thread.set_registers(changed));
        CHECK(!(registers_of(thread) == before));
        REQUIRE(thread.set_registers(before.general));
    }
    SUBCASE("a changed vector register would have been seen") {
        std::vector<std::byte> changed = before.extended;
        changed[160 + 9 * 16] ^= std::byte{1};  // xmm9
        REQUIRE(thread.set_extended_state(changed));
        CHECK(!(registers_of(thread) == before));
        REQUIRE(thread.set_extended_state(before.extended));
    }
    CHECK(registers_of(thread) == before);
    const auto ticks = facts->ticks.load();
    { ScopedStop ends_here = *std::move(stop); }
    CHECK(pump_until(hub, **target, [&] { return facts->ticks > ticks; }));
}

TEST_CASE("several calls of one session, and failing ones, give the kernel's answers") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return tick_until_stopped(*facts); });
    auto target = Target::attach(hub, child.pid());
    auto stop = need(target)->stop();
    auto instruction = (*target)->syscall_instruction();
    auto session = RemoteSyscall::begin(need(stop).threads().front(), need(instruction));
    need(session);
    CHECK(*session->call(SYS_getpid) == child.pid());
    CHECK(*session->call(SYS_close, {static_cast<std::uint64_t>(-1)}) == -EBADF);
    CHECK(*session->call(SYS_getpgid, {0}) == ::getpgrp());
    CHECK(*session->call(100000) == -ENOSYS);
    CHECK(session->finish());
    CHECK(session->finish());
}

TEST_CASE("nanosleep goes on sleeping after injected calls") {
    // A busy machine needs more time for as many stops.
    bool in_time = false;
    for (std::chrono::milliseconds time{200}; !in_time && time < std::chrono::minutes(1); time *= 2)
        in_time =
            check_restart([&](Facts&) { return sleep_for(time); }, SYS_clock_nanosleep, {}, 0);
    CHECK(in_time);
}

TEST_CASE("a read of a pipe restarts and gets its data") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    check_restart(
        [&](Facts&) {
            char buffer[8];
            return static_cast<long>(::read(ends[0], buffer, sizeof buffer));
        },
        SYS_read, [&](Facts&) { CHECK(::write(ends[1], "abc", 3) == 3); }, 3);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a poll with a time-out restarts and sees its event") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    check_restart(
        [&](Facts&) {
            pollfd set{.fd = ends[0], .events = POLLIN, .revents = 0};
            return static_cast<long>(::poll(&set, 1, 60'000));
        },
        SYS_poll, [&](Facts&) { CHECK(::write(ends[1], "abc", 3) == 3); }, 1);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a futex wait restarts and is woken") {
    check_restart(
        [](Facts& facts) {
            timespec limit{.tv_sec = 60, .tv_nsec = 0};
            return ::syscall(SYS_futex, &facts.futex, FUTEX_WAIT, 0, &limit, nullptr, 0);
        },
        SYS_futex,
        [](Facts& facts) {
            CHECK(::syscall(SYS_futex, &facts.futex, FUTEX_WAKE, 1, nullptr, nullptr, 0) == 1);
        },
        0);
}

TEST_CASE("sigsuspend keeps its temporary mask over injected calls") {
    Shared<pid_t> pid;
    check_restart(
        [&](Facts&) {
            *pid = ::getpid();
            sigset_t set, none;
            sigemptyset(&none);
            sigemptyset(&set);
            sigaddset(&set, SIGUSR1);
            ::sigprocmask(SIG_BLOCK, &set, nullptr);
            ::signal(SIGUSR1, [](int) {});
            const int result = ::sigsuspend(&none);
            sigset_t now;
            ::sigprocmask(SIG_BLOCK, nullptr, &now);
            return sigismember(&now, SIGUSR1) ? static_cast<long>(result) : -2l;
        },
        SYS_rt_sigsuspend, [&](Facts&) { ::kill(*pid, SIGUSR1); }, -1);
}

TEST_CASE("an ignored or blocked SIGTRAP of the target stays what it is") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        ::signal(SIGTRAP, SIG_IGN);
        sigset_t set;
        sigfillset(&set);
        ::sigprocmask(SIG_SETMASK, &set, nullptr);
        facts->ready = true;
        while (!facts->stop) ++facts->ticks;
        struct sigaction action {};
        ::sigaction(SIGTRAP, nullptr, &action);
        ::sigprocmask(SIG_BLOCK, nullptr, &set);
        return action.sa_handler == SIG_IGN && sigismember(&set, SIGTRAP) ? 31 : 32;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return facts->ready.load(); }));
    {
        auto stop = (*target)->stop();
        auto pid = inject(need(stop), SYS_getpid);
        CHECK(need(pid) == child.pid());
    }
    facts->stop = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->exit_code() == 31);
}

TEST_CASE("signals that come during a session are delivered after it, and SIGSTOP stops") {
    Shared<Facts> facts;
    static std::atomic<std::uint32_t>* signals;
    signals = &facts->futex;
    TestHub hub;
    Child child(hub, [&] {
        ::signal(SIGUSR1, [](int) { ++*signals; });
        facts->ready = true;
        return tick_until_stopped(*facts);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return facts->ready.load(); }));
    {
        auto stop = (*target)->stop();
        auto instruction = (*target)->syscall_instruction();
        auto session = RemoteSyscall::begin(need(stop).threads().front(), need(instruction));
        need(session);
        ::kill(child.pid(), SIGUSR1);
        ::kill(child.pid(), SIGSTOP);
        CHECK(*session->call(SYS_getpid) == child.pid());
        CHECK(*signals == 0);
    }
    const auto ticks = facts->ticks.load();
    for (int i = 0; i < 20; ++i) {
        while (const auto event = hub.poll()) (*target)->handle(*event);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    CHECK(facts->ticks == ticks);
    ::kill(child.pid(), SIGCONT);
    CHECK(pump_until(hub, **target, [&] { return facts->ticks > ticks && *signals == 1; }));
    facts->stop = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK(*signals == 1);
}

TEST_CASE(
    "a seccomp filter that kills does not kill for a call of ours, and is in force after it") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        std::array<sock_filter, 4> program = {{
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        }};
        sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 77;
        facts->ready = true;
        tick_until_stopped(*facts);
        ::getppid();
        return 0;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return facts->ready.load(); }));
    {
        auto stop = (*target)->stop();
        auto parent = inject(need(stop), SYS_getppid);
        // Without CAP_SYS_ADMIN the filter cannot be suspended, and no call must be injected.
        if (parent)
            CHECK(*parent == ::getpid());
        else
            CHECK(parent.error().code == ErrorCode::unsupported);
    }
    const auto ticks = facts->ticks.load();
    CHECK(pump_until(hub, **target, [&] { return facts->ticks > ticks; }));
    facts->stop = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->kind() == WaitStatus::Kind::killed);
    CHECK((*target)->end()->signal() == SIGSYS);
}

TEST_CASE("the target's death during a session is an answer") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return tick_until_stopped(*facts); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    {
        auto stop = (*target)->stop();
        auto instruction = (*target)->syscall_instruction();
        auto session = RemoteSyscall::begin(need(stop).threads().front(), need(instruction));
        need(session);
        ::kill(child.pid(), SIGKILL);
        auto result = session->call(SYS_getpid);
        REQUIRE(!result);
        CHECK(result.error().code == ErrorCode::gone);
    }
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->signal() == SIGKILL);
}

TEST_CASE("the death of a target with threads while its leader is inside a call is an answer") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        std::thread other([&] { tick_until_stopped(*facts); });
        return tick_until_stopped(*facts);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return (*target)->thread_count() == 2; }));
    {
        auto stop = (*target)->stop();
        auto instruction = (*target)->syscall_instruction();
        auto session = RemoteSyscall::begin(need(stop).threads().front(), need(instruction));
        need(session);
        std::thread killer([&] {
            wait_until([&] { return is_asleep(child.pid()); });
            ::kill(child.pid(), SIGKILL);
        });
        // The leader's end is reported only after the other thread's end is taken.
        auto result = session->call(SYS_pause);
        killer.join();
        REQUIRE(!result);
        CHECK(result.error().code == ErrorCode::gone);
    }
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->signal() == SIGKILL);
}

TEST_CASE("a place that holds no syscall instruction is not jumped to") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return tick_until_stopped(*facts); });
    auto target = Target::attach(hub, child.pid());
    auto stop = need(target)->stop();
    auto instruction = (*target)->syscall_instruction();
    need(instruction);
    CHECK(!RemoteSyscall::begin(need(stop).threads().front(), *instruction + 1));
    CHECK(!RemoteSyscall::begin(stop->threads().front(), {8}));
}

}  // namespace shadowprof::remote_syscall_test
