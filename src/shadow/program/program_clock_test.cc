#include "shadow/program/program_clock.h"

#include <doctest/doctest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"

namespace shadowprof::program_clock_test {
namespace {

using Clock = ProgramClock::Clock;

bool has_task_clock() {
    const bool has = TaskClock::open(0, ProgramClock::period).has_value();
    if (!has) MESSAGE("no task clock here");
    return has;
}

struct Facts {
    std::atomic<std::uint32_t> stop{0};
    std::atomic<pid_t> busy{0}, idle{0};
};

int spin_until_stopped(Facts& facts) {
    facts.busy = ::gettid();
    while (!facts.stop) spin_for(100'000);
    return 0;
}

void sleep_until_stopped(Facts& facts) {
    facts.idle = ::gettid();
    while (!facts.stop) ::syscall(SYS_futex, &facts.stop, FUTEX_WAIT, 0, nullptr, nullptr, 0);
}

ThreadLooks looks() {
    return {1, ThreadLooks::usual_share};
}

// A run whose clock is updated.
struct Run {
    Run(pid_t pid, Forks forks) : target(Target::attach(hub, pid, forks)) {
        tree.emplace(hub, *need(target), Clock::now());
    }
    // Looks seldom: whenever this process wakes up, it may take a processor from the target, which
    // counts against the clock.
    bool until(const std::function<bool()>& condition) {
        const auto deadline = Clock::now() + std::chrono::minutes(1);
        while (Clock::now() < deadline) {
            while (const auto event = hub.poll()) tree->handle(*event);
            tree->update(Clock::now());
            clock.update(*tree, Clock::now());
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    Profile profile() const {
        Profile profile;
        clock.fill(profile);
        return profile;
    }
    std::uint64_t ticks() const {
        const auto counters = profile().sampling.counters;
        const auto found = counters.find("clock_ticks");
        return found == counters.end() ? 0 : found->second;
    }

    TestHub hub;
    Result<std::unique_ptr<Target>> target;
    std::optional<ProcessTree> tree;
    ModuleTable modules;
    ProgramClock clock{modules, looks()};
};

}  // namespace

TEST_CASE("ticks are of the threads that run, at the code that they execute") {
    if (!has_task_clock()) return;
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] {
        std::thread sleeper([&] { sleep_until_stopped(*facts); });
        return spin_until_stopped(*facts);
    });
    REQUIRE(wait_until([&] { return facts->busy != 0 && facts->idle != 0; }));
    Run run(child.pid(), Forks::detach);
    REQUIRE(run.until([&] { return run.ticks() >= 10; }));
    run.clock.end(Clock::now());
    const auto profile = run.profile();
    REQUIRE(profile.threads.size() == 1);
    CHECK(profile.threads[0].tid == facts->busy);
    std::uint64_t time_ns = 0, ticks = 0, within = 0;
    const auto map = read_memory_map(::getpid());
    REQUIRE(map);
    const GuestAddress start{reinterpret_cast<std::uint64_t>(&spin_for)};
    const auto spinning = MapResolver(*map, run.modules).resolve(start);
    for (const ClockTicks& each : profile.clock) {
        time_ns += each.time_ns;
        ticks += each.ticks;
        const bool is_within = each.at.module == spinning.module &&
                               each.at.address >= spinning.address &&
                               each.at.address < spinning.address + 256;
        within += is_within ? each.ticks : 0;
    }
    CHECK(ticks == profile.sampling.counters.at("clock_ticks"));
    CHECK(time_ns == ticks * std::uint64_t(ProgramClock::period.count()));
    CHECK(profile.threads[0].time_ns == time_ns);
    CHECK(within * 10 >= ticks * 9);
    CHECK(profile.sampling.counters.at("clock_threads_left_out") == 0);
}

TEST_CASE("threads and processes that begin later have a clock, too") {
    if (!has_task_clock()) return;
    Shared<Facts> of_thread, of_process;
    Shared<std::atomic<bool>> go;
    TestHub hub;
    Child child(hub, [&] {
        while (!*go) ::usleep(100);
        if (::fork() == 0) ::_exit(spin_until_stopped(*of_process));
        std::thread([&] { spin_until_stopped(*of_thread); }).join();
        return 0;
    });
    Run run(child.pid(), Forks::follow);
    *go = true;
    const auto has_time = [&](const std::atomic<pid_t>& tid) {
        const auto threads = run.profile().threads;
        return std::ranges::any_of(threads, [&](const ThreadProfile& each) {
            return each.tid == tid && each.time_ns != 0;
        });
    };
    CHECK(run.until([&] { return has_time(of_thread->busy) && has_time(of_process->busy); }));
    ::kill(of_process->busy, SIGKILL);
}

TEST_CASE("what has ticked before a process ends is not lost") {
    if (!has_task_clock()) return;
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return spin_until_stopped(*facts); });
    Run run(child.pid(), Forks::detach);
    REQUIRE(run.until([&] { return run.ticks() != 0; }));
    const auto before = run.ticks();
    const auto cpu_ns = read_cpu_ns(child.pid());
    const auto enough = cpu_ns + 50 * std::uint64_t(ProgramClock::period.count());
    REQUIRE(wait_until([&] { return read_cpu_ns(child.pid()) >= enough; }));
    facts->stop = 1;
    REQUIRE(pump_to_end(run.hub, **run.target));
    run.clock.end(Clock::now());
    CHECK(run.ticks() > before);
    CHECK(run.profile().sampling.counters.at("clock_ticks_lost") == 0);
}

TEST_CASE("where threads are scheduled all the time, they are looked at instead") {
    const auto runs = read_thread_runs(::getpid(), ::gettid());
    if (!runs || runs->runs == 0) return;
    TestHub hub;
    Child child(hub, [&] {
        // Wakes up ten thousand times a second, and has a bit to do each time.
        const timespec moment = {0, 50'000};
        while (true) {
            spin_for(10'000);
            ::nanosleep(&moment, nullptr);
        }
        return 0;
    });
    Run run(child.pid(), Forks::detach);
    const auto looks_of = [](const Profile& profile) {
        const auto found = profile.sampling.counters.find("looks");
        return found == profile.sampling.counters.end() ? 0 : found->second;
    };
    std::uint64_t ticks = 0;
    REQUIRE(run.until([&] {
        if (looks_of(run.profile()) == 0) ticks = run.ticks();
        return looks_of(run.profile()) >= 20;
    }));
    const auto profile = run.profile();
    std::uint64_t time_ns = 0, noted = 0;
    for (const ClockTicks& each : profile.clock) {
        time_ns += each.time_ns;
        noted += each.ticks;
    }
    // Nothing that was known by then is lost.
    CHECK(run.ticks() >= ticks);
    const auto& counters = profile.sampling.counters;
    CHECK(noted + counters.at("looks_in_kernel") == run.ticks() + counters.at("looks"));
    CHECK(time_ns + counters.at("looks_in_kernel_ns") <= read_cpu_ns(child.pid()) * 11 / 10);
    REQUIRE(profile.threads.size() == 1);
    CHECK(profile.threads[0].tid == child.pid());
    CHECK(profile.threads[0].time_ns == time_ns);
}

TEST_CASE("without a clock the profile has nothing of it") {
    ModuleTable modules;
    const ProgramClock clock(modules, looks());
    Profile profile;
    clock.fill(profile);
    CHECK(profile.clock.empty());
    CHECK(profile.sampling.counters.empty());
}

}  // namespace shadowprof::program_clock_test
