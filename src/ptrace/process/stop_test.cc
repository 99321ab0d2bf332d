#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "ptrace/proc/proc.h"
#include "ptrace/process/sleep_state.h"
#include "ptrace/process/target.h"
#include "ptrace/replica/replica.h"
#include "ptrace/test_support.h"

namespace shadowprof::stop_test {
using namespace std::chrono_literals;

namespace {

struct Counters {
    std::atomic<std::uint64_t> ticks{0};
    std::atomic<std::uint64_t> threads{0};
    std::atomic<bool> stop{false};
    std::atomic<bool> ready{false};
    std::atomic<int> result{0};
};

int tick_until_stopped(Counters& counters) {
    while (!counters.stop) ++counters.ticks;
    return 0;
}

bool is_traced(pid_t pid) {
    const auto status = read_proc_status(pid);
    return status && status->tracer_pid != 0;
}

// Threads that do this at the same time wait for each other, uninterruptible for a moment.
void map_and_unmap() {
    for (int turn = 0; turn < 20; ++turn) {
        constexpr std::size_t bytes = 64 * 4096;
        void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        ::munmap(memory, bytes);
    }
}

}  // namespace

TEST_CASE("no thread runs while the target is stopped, whatever comes and goes") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] {
        std::thread ticker([&] { tick_until_stopped(*counters); });
        while (!counters->stop) {
            std::array<std::thread, 3> brief;
            for (auto& thread : brief)
                thread = std::thread([&] {
                    map_and_unmap();
                    ++counters->threads, ++counters->ticks;
                });
            for (auto& thread : brief) thread.join();
        }
        ticker.join();
        return counters->threads % 3 == 0 ? 11 : 12;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    for (int round = 0; round < 200; ++round) {
        auto stop = (*target)->stop();
        need(stop);
        const auto ticks = counters->ticks.load();
        const auto tids = read_thread_ids(child.pid());
        std::set<pid_t> stopped;
        for (const StoppedThread& thread : stop->threads()) {
            stopped.insert(thread.tid());
            CHECK(thread.registers());
        }
        for (const pid_t tid : *tids) {
            // A thread that is missing here is in the kernel, and will stop before it leaves it.
            CHECK_MESSAGE((stopped.contains(tid) || is_traced(tid)), tid);
        }
        std::this_thread::sleep_for(100us);
        CHECK(counters->ticks == ticks);
        { ScopedStop ends_here = *std::move(stop); }
        REQUIRE(pump_until(hub, **target, [&] { return counters->ticks != ticks; }));
    }
    counters->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 11);
}

TEST_CASE("a stop that takes longer than it may is given up, and all threads go on") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] {
        std::array<std::thread, 4> tickers;
        for (auto& thread : tickers)
            thread = std::thread([&] {
                ++counters->threads;
                tick_until_stopped(*counters);
            });
        for (auto& thread : tickers) thread.join();
        return 7;
    });
    REQUIRE(wait_until([&] { return counters->threads == 4; }));
    auto target = Target::attach(hub, child.pid());
    need(target);
    for (int round = 0; round < 50; ++round) {
        const auto refused = (*target)->stop(Target::Sleepers::leave_alone, {.longest = 0ns});
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == ErrorCode::interrupted);
        if (round % 2) continue;
        auto stop = (*target)->stop(Target::Sleepers::leave_alone, {.longest = 1h});
        need(stop);
        CHECK(stop->threads().size() == read_thread_ids(child.pid())->size());
        CHECK((*target)->stop_began() <= std::chrono::steady_clock::now());
    }
    const auto ticks = counters->ticks.load();
    CHECK(pump_until(hub, **target, [&] { return counters->ticks > ticks + 1000; }));
    counters->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 7);
}

namespace {

constexpr std::size_t racer_count = 6;

struct Race {
    std::array<std::atomic<std::uint64_t>, racer_count> ticks{};
    std::atomic<bool> stop{false};

    std::array<std::uint64_t, racer_count> seen() const {
        std::array<std::uint64_t, racer_count> values{};
        std::copy(ticks.begin(), ticks.end(), values.begin());
        return values;
    }
    bool have_all_gone_on(const std::array<std::uint64_t, racer_count>& since) const {
        return std::equal(ticks.begin(), ticks.end(), since.begin(),
                          [](const auto& now, auto then) { return now > then; });
    }
};

// Moves the process to the first processor that it may use, like all other callers.
void share_one_processor() {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    std::size_t first = 0;
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &allowed)) ++first;
    CPU_SET(first, &one);
    static_cast<void>(::sched_setaffinity(0, sizeof one, &one));
}

int race(Race& race) {
    share_one_processor();
    static_cast<void>(!::nice(3));
    std::array<std::thread, racer_count> threads;
    for (std::size_t i = 0; i < racer_count; ++i)
        threads[i] = std::thread([&race, i] {
            while (!race.stop) ++race.ticks[i];
        });
    for (auto& thread : threads) thread.join();
    return 7;
}

int keep_a_processor_busy() {
    share_one_processor();
    for (;;) spin_for(1'000'000);
}

}  // namespace

TEST_CASE("threads without a processor are left out of a stop, stand still, and go on after it") {
    TestHub hub;
    Shared<Race> race_seen;
    const Child busy(hub, keep_a_processor_busy), busier(hub, keep_a_processor_busy);
    Child child(hub, [&] { return race(*race_seen); });
    REQUIRE(wait_until([&] { return race_seen->have_all_gone_on({}); }));
    auto target = Target::attach(hub, child.pid());
    need(target);
    int rounds = 0, incomplete = 0;
    REQUIRE(pump_until(hub, **target, [&] {
        auto stop = (*target)->stop(Target::Sleepers::leave_alone, {.silence = 200us});
        const auto stopped = need(stop).threads().size();
        CHECK(stopped > 0);
        const auto before = race_seen->seen();
        for (const StoppedThread& thread : stop->threads()) CHECK(thread.registers());
        std::this_thread::sleep_for(1ms);
        CHECK(race_seen->seen() == before);
        incomplete += stopped < racer_count;
        return ++rounds >= 30 && incomplete >= 3;
    }));
    const auto before = race_seen->seen();
    CHECK(pump_until(hub, **target, [&] { return race_seen->have_all_gone_on(before); }));
    // A stop without a limit includes the threads that were late before.
    {
        auto stop = (*target)->stop(Target::Sleepers::leave_alone);
        CHECK(need(stop).threads().size() >= racer_count);
    }
    race_seen->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 7);
}

TEST_CASE("a stop signal stops the target, and SIGCONT lets it go on, as without us") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] { return tick_until_stopped(*counters); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return counters->ticks > 0; }));
    ::kill(child.pid(), SIGSTOP);
    REQUIRE(pump_until(hub, **target, [&] {
        auto stop = (*target)->stop();
        return need(stop).in_group_stop();
    }));
    const auto ticks = counters->ticks.load();
    for (int i = 0; i < 20; ++i) {
        while (const auto event = hub.poll()) (*target)->handle(*event);
        std::this_thread::sleep_for(200us);
    }
    CHECK(counters->ticks == ticks);
    ::kill(child.pid(), SIGCONT);
    CHECK(pump_until(hub, **target, [&] { return counters->ticks > ticks; }));
    auto stop = (*target)->stop();
    CHECK(!need(stop).in_group_stop());
}

TEST_CASE("SIGCONT during a stop ends the target's group stop") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] { return tick_until_stopped(*counters); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    ::kill(child.pid(), SIGSTOP);
    bool stopped = false;
    REQUIRE(pump_until(hub, **target, [&] {
        auto stop = (*target)->stop();
        if (need(stop).in_group_stop()) {
            ::kill(child.pid(), SIGCONT);
            stopped = true;
        }
        return stopped;
    }));
    const auto ticks = counters->ticks.load();
    CHECK(pump_until(hub, **target, [&] { return counters->ticks > ticks; }));
}

TEST_CASE("every signal that comes during stops arrives once and in order") {
    static std::array<std::atomic<int>, 256>* arrived;
    static std::atomic<int>* count;
    struct Log {
        std::array<std::atomic<int>, 256> values{};
        std::atomic<int> count{0};
        Counters counters;
    };
    Shared<Log> log;
    arrived = &log->values;
    count = &log->count;
    TestHub hub;
    Child child(hub, [&] {
        struct sigaction action {};
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        action.sa_sigaction = [](int, siginfo_t* info, void*) {
            const int index = (*count)++;
            if (index < 256) (*arrived)[static_cast<std::size_t>(index)] = info->si_value.sival_int;
        };
        ::sigaction(SIGRTMIN, &action, nullptr);
        log->counters.ready = true;
        return tick_until_stopped(log->counters);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return log->counters.ready.load(); }));
    for (int i = 0; i < 200; ++i) {
        sigval value{.sival_int = 1000 + i};
        if (i % 2 == 0) ::sigqueue(child.pid(), SIGRTMIN, value);  // the stop may catch it
        auto stop = (*target)->stop();
        need(stop);
        if (i % 2 == 1) ::sigqueue(child.pid(), SIGRTMIN, value);
    }
    REQUIRE(pump_until(hub, **target, [&] { return log->count >= 200; }));
    log->counters.stop = true;
    REQUIRE(pump_to_end(hub, **target));
    CHECK(log->count == 200);
    for (int i = 0; i < 200; ++i) CHECK(log->values[static_cast<std::size_t>(i)] == 1000 + i);
}

namespace {

// Waits in epoll_wait, without a time-out, for an event that comes from outside.
int wait_for_event(Counters& counters, int event_fd) {
    const int epoll = ::epoll_create1(0);
    epoll_event event{.events = EPOLLIN, .data = {}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, event_fd, &event);
    counters.ready = true;
    counters.result = ::epoll_wait(epoll, &event, 1, -1);
    counters.stop = true;
    return 0;
}

}  // namespace

TEST_CASE("a thread that sleeps in epoll_wait is left alone, and sees no EINTR at a detach") {
    Shared<Counters> counters;
    TestHub hub;
    const int event_fd = ::eventfd(0, EFD_CLOEXEC);
    Child child(hub, [&] { return wait_for_event(*counters, event_fd); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    REQUIRE(pump_until(hub, **target, [&] { return counters->ready && is_asleep(child.pid()); }));
    for (int i = 0; i < 20; ++i) {
        auto stop = (*target)->stop();
        CHECK(need(stop).threads().empty());
    }
    CHECK((*target)->detach());
    CHECK(!is_traced(child.pid()));
    REQUIRE(wait_until([&] { return counters->stop || is_asleep(child.pid()); }));
    CHECK(!counters->stop);
    REQUIRE(::eventfd_write(event_fd, 1) == 0);
    ::close(event_fd);
    CHECK(wait_until([&] { return counters->stop.load(); }));
    CHECK(counters->result == 1);
}

TEST_CASE(
    "a thread that is left alone at a detach is let go, without waking, by the tracer's end") {
    Shared<Counters> counters;
    TestHub hub;
    const int event_fd = ::eventfd(0, EFD_CLOEXEC);
    Child child(hub, [&] { return wait_for_event(*counters, event_fd); });
    REQUIRE(wait_until([&] { return counters->ready && is_asleep(child.pid()); }));
    std::thread tracer([&] {
        auto target = Target::attach(hub, child.pid());
        need(target);
        CHECK((*target)->is_asleep());
        CHECK((*target)->detach(Target::Sleepers::leave_alone));
        CHECK(is_traced(child.pid()));
    });
    tracer.join();
    REQUIRE(wait_until([&] { return !is_traced(child.pid()); }));
    CHECK(!counters->stop);
    REQUIRE(::eventfd_write(event_fd, 1) == 0);
    ::close(event_fd);
    CHECK(wait_until([&] { return counters->stop.load(); }));
    CHECK(counters->result == 1);
}

TEST_CASE("an epoll_wait that is interrupted all the same goes on waiting") {
    Shared<Counters> counters;
    TestHub hub;
    const int event_fd = ::eventfd(0, EFD_CLOEXEC);
    Child child(hub, [&] { return wait_for_event(*counters, event_fd); });
    REQUIRE(::ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) == 0);
    REQUIRE(wait_until([&] { return counters->ready && is_asleep(child.pid()); }));
    std::optional<RestartedCall> restarted;
    for (int i = 0; i < 10; ++i) {
        REQUIRE(::ptrace(PTRACE_INTERRUPT, child.pid(), nullptr, nullptr) == 0);
        auto status = hub.wait_for(child.pid());
        StoppedThread thread(hub, child.pid(), need(status));
        CHECK(restart_interrupted_call(thread, restarted));
        CHECK(thread.resume());
        REQUIRE(wait_until([&] { return counters->stop || is_asleep(child.pid()); }));
    }
    CHECK(!counters->stop);
    REQUIRE(::eventfd_write(event_fd, 1) == 0);
    ::close(event_fd);
    CHECK(wait_until([&] { return counters->stop.load(); }));
    CHECK(counters->result == 1);
}

TEST_CASE("signals that are ignored keep no time-out from passing") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] {
        const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
        epoll_event event;
        counters->ready = true;
        counters->result = ::epoll_wait(epoll, &event, 1, 100);
        counters->stop = true;
        return counters->result == 0 ? 0 : 1;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    // The signals come far more often than the time-out, until it has passed.
    CHECK(pump_until(hub, **target, [&] {
        if ((*target)->end()) return true;
        ::kill(child.pid(), SIGWINCH);
        ::usleep(5000);
        return false;
    }));
    CHECK((*target)->end()->exit_code() == 0);
}

TEST_CASE("an exec by a thread that is not the leader is followed") {
    TestHub hub;
    Shared<Counters> counters;
    Child child(hub, [&] {
        while (!counters->stop) ::usleep(100);
        std::thread([] { ::execl("/bin/sh", "sh", "-c", "exit 6", nullptr); }).join();
        return 99;
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    counters->stop = true;
    REQUIRE(pump_until(hub, **target, [&] {
        const auto stop = (*target)->stop();
        return !stop || (*target)->exec_count() > 0;
    }));
    CHECK((*target)->thread_count() == ((*target)->end() ? 0 : 1));
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->exec_count() == 1);
    CHECK((*target)->end()->exit_code() == 6);
}

TEST_CASE("a leader that ended before its threads does not hold up a stop") {
    bool ends_before_attach = false;
    SUBCASE("it ends while it is traced") {}
    SUBCASE("it ended before") {
        ends_before_attach = true;
    }
    TestHub hub;
    Shared<Counters> counters;
    Child child(hub, [&] {
        std::thread([&] { ::_exit(tick_until_stopped(*counters) + 8); }).detach();
        while (!counters->ready) ::usleep(100);
        return static_cast<int>(::syscall(SYS_exit, 0));  // ends only this thread
    });
    const auto leader_is_dead = [&] {
        return counters->ticks > 0 &&
               read_thread_state(child.pid(), child.pid()).value_or('?') == 'Z';
    };
    counters->ready = ends_before_attach;
    if (ends_before_attach) REQUIRE(wait_until(leader_is_dead));
    auto target = Target::attach(hub, child.pid());
    need(target);
    counters->ready = true;
    REQUIRE(pump_until(hub, **target, leader_is_dead));
    for (int i = 0; i < 3; ++i) {
        auto stop = (*target)->stop();
        REQUIRE(need(stop).threads().size() == 1);
        CHECK(stop->threads().front().tid() != child.pid());
        CHECK((*target)->syscall_instruction());
        CHECK(Replica::fork(*stop));
        const auto ticks = counters->ticks.load();
        CHECK(counters->ticks == ticks);
    }
    counters->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 8);
}

TEST_CASE(
    "a parent that waits for its vfork child does not hold up a stop, and children are its own") {
    TestHub hub;
    struct Facts : Counters {
        std::atomic<pid_t> grandchild{0};
    };
    Shared<Facts> facts;
    Child child(hub, [&] {
        while (!facts->ready) ::usleep(100);
        const pid_t pid = ::vfork();
        if (pid == 0) {
            facts->grandchild = ::getpid();
            while (!facts->stop) ::usleep(100);
            ::_exit(5);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        return WEXITSTATUS(status);
    });
    auto target = Target::attach(hub, child.pid());
    need(target);
    facts->ready = true;
    REQUIRE(pump_until(hub, **target, [&] { return facts->grandchild != 0; }));
    {
        auto stop = (*target)->stop();
        CHECK(need(stop).threads().empty());
        CHECK(!is_traced(facts->grandchild));
    }
    facts->stop = true;
    CHECK(exit_code_at_end(hub, **target) == 5);
}

TEST_CASE("a detached target runs on untraced") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] {
        std::thread other([&] { tick_until_stopped(*counters); });
        tick_until_stopped(*counters);
        other.join();
        return 21;
    });
    {
        auto target = Target::attach(hub, child.pid());
        need(target);
        REQUIRE(pump_until(hub, **target, [&] { return counters->ticks > 0; }));
        CHECK(is_traced(child.pid()));
        CHECK((*target)->detach());
    }
    CHECK(!is_traced(child.pid()));
    const auto ticks = counters->ticks.load();
    CHECK(wait_until([&] { return counters->ticks > ticks; }));
    counters->stop = true;
    auto status = hub.reap(child.pid());
    CHECK(need(status).exit_code() == 21);
}

TEST_CASE("a target that is killed while it stands still is gone, no more") {
    Shared<Counters> counters;
    TestHub hub;
    Child child(hub, [&] { return tick_until_stopped(*counters); });
    auto target = Target::attach(hub, child.pid());
    need(target);
    {
        auto stop = (*target)->stop();
        REQUIRE(need(stop).threads().size() == 1);
        ::kill(child.pid(), SIGKILL);
        REQUIRE(wait_until([&] {
            const auto state = read_thread_state(child.pid(), child.pid());
            return !state || *state == 'Z';
        }));
        auto registers = stop->threads().front().registers();
        REQUIRE(!registers);
        CHECK(registers.error().code == ErrorCode::gone);
    }
    REQUIRE(pump_to_end(hub, **target));
    CHECK((*target)->end()->signal() == SIGKILL);
    CHECK((*target)->stop().error().code == ErrorCode::gone);
}

TEST_CASE("what cannot be attached to is refused with the reason") {
    TestHub hub;
    const auto refusal = [&](pid_t pid) {
        const auto target = Target::attach(hub, pid);
        REQUIRE(!target);
        return target.error().message;
    };
    CHECK(refusal(0x3fffffff).find("no such process") != std::string::npos);
    CHECK(refusal(::getpid()).find("shadowprof itself") != std::string::npos);
    // Elsewhere, as in a container, process 2 may be anything or nothing.
    const auto kthreadd = read_proc_status(2);
    if (kthreadd && kthreadd->kernel_thread)
        CHECK(refusal(2).find("kernel thread") != std::string::npos);

    Child zombie(hub, [] { return 0; });
    REQUIRE(wait_until(
        [&] { return read_thread_state(zombie.pid(), zombie.pid()).value_or('?') == 'Z'; }));
    CHECK(refusal(zombie.pid()).find("zombie") != std::string::npos);

    Child sleeper(hub, [] { return ::pause(); });
    Shared<std::atomic<bool>> traced;
    Child tracer(hub, [&] {
        *traced = ::ptrace(PTRACE_SEIZE, sleeper.pid(), nullptr, nullptr) == 0;
        return ::pause();
    });
    REQUIRE(wait_until([&] { return traced->load(); }));
    CHECK(refusal(sleeper.pid()).find(std::to_string(tracer.pid())) != std::string::npos);
}

}  // namespace shadowprof::stop_test
