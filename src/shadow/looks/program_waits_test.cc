// Where threads are found asleep, and for how long.
#include "shadow/looks/program_waits.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

#include "ptrace/test_support.h"

namespace shadowprof::program_waits_test {
namespace {

using Clock = ProgramWaits::Clock;

// A run whose threads are looked at.
struct Run {
    explicit Run(const std::function<int()>& body)
        : child(hub, body), target(Target::attach(hub, child.pid())) {
        tree.emplace(hub, *need(target), Clock::now());
    }
    void look() {
        while (const auto event = hub.poll()) tree->handle(*event);
        tree->update(Clock::now());
        waits.look(*tree, Clock::now());
        waits.note(Clock::now());
    }
    bool until(const std::function<bool()>& condition) {
        return wait_until(condition, [&] { look(); });
    }
    Profile profile() const {
        Profile profile;
        waits.fill(profile);
        return profile;
    }
    std::uint64_t looks(std::string_view call) const {
        std::uint64_t sum = 0;
        for (const Wait& each : profile().waits) sum += each.call == call ? each.looks : 0;
        return sum;
    }

    TestHub hub;
    Child child;
    Result<std::unique_ptr<Target>> target;
    std::optional<ProcessTree> tree;
    ModuleTable modules;
    CopiedStacks stacks{modules};
    ProgramWaits waits{stacks, 1};
};

__attribute__((noinline)) int sleep_for_ever() {
    while (true) ::poll(nullptr, 0, -1);
    return 0;
}

}  // namespace

TEST_CASE("a thread that sleeps is found in its call and its caller, for the time that passes") {
    Run run([] {
        ::prctl(PR_SET_NAME, "sleeper");
        return sleep_for_ever();
    });
    REQUIRE(wait_until([&] { return is_asleep(run.child.pid()); }));
    const auto begin = Clock::now();
    run.look();
    REQUIRE(run.until([&] { return run.looks("poll") >= 20; }));
    run.look();
    const auto passed = Clock::now() - begin;
    const auto profile = run.profile();
    REQUIRE(profile.waits.size() == 1);
    const Wait& wait = profile.waits[0];
    CHECK(wait.thread == "sleeper");
    CHECK(std::chrono::nanoseconds(wait.time_ns) <= passed);
    CHECK(std::chrono::nanoseconds(wait.time_ns) * 10 >= passed * 9);
    const auto map = read_memory_map(::getpid());
    REQUIRE(map);
    const GuestAddress function{reinterpret_cast<std::uint64_t>(&sleep_for_ever)};
    const auto start = MapResolver(*map, run.modules).resolve(function);
    constexpr std::uint64_t longest = 512;
    CHECK(std::ranges::any_of(wait.callers, [&](CodeLocation at) {
        return at.module == start.module && at.address - start.address < longest;
    }));
}

TEST_CASE("a thread that computes does not sleep") {
    Run run([] { return static_cast<int>(spin_for(~std::uint64_t{0})); });
    for (int i = 0; i < 20; ++i) run.look();
    CHECK(run.profile().waits.empty());
}

TEST_CASE("many threads stand for all, and each wait is told apart") {
    constexpr std::size_t in_poll = 12, in_read = 4;
    Shared<std::array<int, 2>> pipe_ends;
    REQUIRE(::pipe(pipe_ends->data()) == 0);
    Shared<std::atomic<std::size_t>> born;
    Run run([&] {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < in_poll + in_read; ++i)
            threads.emplace_back([&, i] {
                ++*born;
                char byte = 0;
                if (i < in_poll) sleep_for_ever();
                static_cast<void>(::read((*pipe_ends)[0], &byte, 1));
            });
        for (auto& each : threads) each.join();
        return 0;
    });
    REQUIRE(run.until([&] { return *born == in_poll + in_read; }));
    // The main thread waits for the others to end.
    const auto all_sleep = [&] {
        return std::ranges::all_of((*run.target)->thread_ids(), [&](pid_t tid) {
            return (*run.target)->sleep_of(tid).has_value();
        });
    };
    REQUIRE(wait_until(all_sleep));
    run.waits.pause(Clock::now());
    const auto before = run.looks("read") + run.looks("poll");
    REQUIRE(run.until([&] { return run.looks("read") + run.looks("poll") - before >= 400; }));
    // Each thread is asked in 8 of 17 rounds.
    CHECK(run.looks("poll") > run.looks("read"));
    CHECK(run.looks("read") > 0);
    for (const int end : *pipe_ends) ::close(end);
}

TEST_CASE("what happens in a pause counts nothing") {
    Run run([] { return sleep_for_ever(); });
    REQUIRE(wait_until([&] { return is_asleep(run.child.pid()); }));
    run.look();
    run.waits.pause(Clock::now());
    ::usleep(50'000);
    run.look();
    const auto waits = run.profile().waits;
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].time_ns == 0);
    CHECK(waits[0].looks == 2);
}

}  // namespace shadowprof::program_waits_test
