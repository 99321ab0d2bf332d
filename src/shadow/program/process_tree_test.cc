#include "shadow/program/process_tree.h"

#include <doctest/doctest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <map>

#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"

namespace shadowprof::process_tree_test {
namespace {

struct Facts {
    std::atomic<std::uint32_t> stop{0};
    std::atomic<int> ready{0};
    std::atomic<pid_t> workers[2];
    std::atomic<pid_t> sleeper;
};

int work_until_stopped(Facts& facts) {
    ++facts.ready;
    while (!facts.stop) {
    }
    return 0;
}

int sleep_until_stopped(Facts& facts) {
    facts.sleeper = ::getpid();
    ++facts.ready;
    while (!facts.stop) ::syscall(SYS_futex, &facts.stop, FUTEX_WAIT, 0, nullptr, nullptr, 0);
    return 0;
}

void stop_all(Facts& facts) {
    facts.stop = 1;
    ::syscall(SYS_futex, &facts.stop, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

int wait_for_all() {
    while (::wait(nullptr) > 0) {
    }
    return 0;
}

}  // namespace

TEST_CASE("those that run have the same chance, those that sleep have none") {
    Shared<Facts> facts;
    Shared<std::atomic<bool>> go;
    TestHub hub;
    Child child(hub, [&] {
        while (!*go) ::usleep(100);
        for (auto& worker : facts->workers) {
            const pid_t pid = ::fork();
            if (pid == 0) ::_exit(work_until_stopped(*facts));
            worker = pid;
        }
        if (::fork() == 0) ::_exit(sleep_until_stopped(*facts));
        return wait_for_all();
    });
    auto target = Target::attach(hub, child.pid(), Forks::follow);
    need(target);
    ProcessTree tree(hub, **target, ProcessTree::Clock::now());
    const auto pump = [&](auto condition) {
        return wait_until([&] {
            while (const auto event = hub.poll()) tree.handle(*event);
            tree.update(ProcessTree::Clock::now());
            return condition();
        });
    };
    *go = true;
    REQUIRE(pump([&] { return facts->ready == 3 && tree.find(3) != nullptr; }));
    REQUIRE(pump([&] { return is_asleep(child.pid()) && is_asleep(facts->sleeper); }));
    std::mt19937_64 random(1);
    std::map<std::uint64_t, int> chosen;
    constexpr int choices = 200;
    for (int i = 0; i < choices; ++i) {
        const auto* process = tree.choose(random, ProcessTree::Clock::now());
        if (process) ++chosen[process->number];
        // A busy machine may leave a worker without a processor for long.
        const std::uint64_t before[] = {read_cpu_ns(facts->workers[0]),
                                        read_cpu_ns(facts->workers[1])};
        REQUIRE(wait_until([&] {
            return read_cpu_ns(facts->workers[0]) != before[0] &&
                   read_cpu_ns(facts->workers[1]) != before[1];
        }));
    }
    CHECK(chosen[0] == 0);
    CHECK(chosen[1] > choices / 4);
    CHECK(chosen[2] > choices / 4);
    CHECK(chosen[3] == 0);
    // If a processor is given, a process that would run there is preferred.
    constexpr int no_processor = 1 << 20;
    const auto run_again = [&] {
        const auto before = read_cpu_ns(facts->workers[0]);
        return wait_until([&] { return read_cpu_ns(facts->workers[0]) != before; });
    };
    REQUIRE(run_again());
    CHECK(tree.choose(random, ProcessTree::Clock::now(), no_processor) != nullptr);
    CHECK(tree.candidates() == 4);
    REQUIRE(run_again());
    const auto stat = read_proc_stat(facts->workers[0]);
    REQUIRE(stat);
    const auto* met = tree.choose(random, ProcessTree::Clock::now(), stat->cpu);
    REQUIRE(met != nullptr);
    CHECK((met->number == 1 || met->number == 2));
    stop_all(*facts);
    REQUIRE(pump([&] { return (*target)->end().has_value(); }));
    Profile profile;
    tree.fill(profile, ProcessTree::Clock::now());
    REQUIRE(profile.processes.size() == 4);
    for (const auto& process : profile.processes) CHECK(process.exit_status == 0);
    CHECK(profile.notes.empty());
}

TEST_CASE("what outlives the first process is let go, and the profile says so") {
    Shared<Facts> facts;
    Shared<std::atomic<bool>> go;
    Shared<std::atomic<pid_t>> survivor;
    TestHub hub;
    Child child(hub, [&] {
        while (!*go) ::usleep(100);
        const pid_t pid = ::fork();
        if (pid == 0) ::_exit(sleep_until_stopped(*facts));
        *survivor = pid;
        while (facts->ready == 0) ::usleep(100);
        return 4;
    });
    auto target = Target::attach(hub, child.pid(), Forks::follow);
    need(target);
    ProcessTree tree(hub, **target, ProcessTree::Clock::now());
    *go = true;
    REQUIRE(wait_until([&] {
        while (const auto event = hub.poll()) tree.handle(*event);
        tree.update(ProcessTree::Clock::now());
        return (*target)->end().has_value();
    }));
    CHECK(tree.detach_all(Target::Sleepers::stop, ProcessTree::Clock::now()));
    const auto status = read_proc_status(*survivor);
    REQUIRE(status);
    CHECK(status->tracer_pid == 0);
    stop_all(*facts);
    Profile profile;
    tree.fill(profile, ProcessTree::Clock::now());
    REQUIRE(profile.processes.size() == 2);
    REQUIRE(profile.notes.size() == 1);
    CHECK(profile.notes[0].find("1 process of the program was still running") == 0);
    for (const auto& process : profile.processes)
        CHECK(process.exit_status == (process.parent ? std::nullopt : std::optional(4)));
}

}  // namespace shadowprof::process_tree_test
