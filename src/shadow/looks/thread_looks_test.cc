// Where looks find the threads of a run, and how much time they stand for.
#include "shadow/looks/thread_looks.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>

#include "ptrace/test_support.h"

namespace shadowprof::thread_looks_test {
namespace {

using Clock = ThreadLooks::Clock;

// A child that is looked at until there is enough.
struct LookedAt {
    explicit LookedAt(const std::function<int()>& body)
        : child(hub, body), target(Target::attach(hub, child.pid())) {
        tree.emplace(hub, *need(target), Clock::now());
    }
    bool until(const std::function<bool()>& condition) {
        return wait_until(condition, [&] {
            while (const auto event = hub.poll()) tree->handle(*event);
            tree->update(Clock::now());
            if (Clock::now() < looks.next()) return;
            for (const auto& each : looks.look(*tree, {}, Clock::now())) {
                (each.is_in_kernel() ? in_kernel_ns : in_code_ns) += each.time_ns;
                seen.push_back(each);
            }
        });
    }

    TestHub hub;
    Child child;
    Result<std::unique_ptr<Target>> target;
    std::optional<ProcessTree> tree;
    ThreadLooks looks{1, ThreadLooks::usual_share};
    std::vector<SeenThread> seen;
    std::uint64_t in_kernel_ns = 0, in_code_ns = 0;
};

int call_the_kernel() {
    std::array<char, 65536> bytes;
    while (true) static_cast<void>(::getrandom(bytes.data(), bytes.size(), 0));
    return 0;
}

}  // namespace

TEST_CASE("a thread that computes is found where it computes, for the time that it ran") {
    LookedAt run([] { return static_cast<int>(spin_for(~std::uint64_t{0})); });
    const auto before = read_cpu_ns(run.child.pid());
    REQUIRE(run.until([&] { return run.seen.size() >= 20; }));
    const auto ran = read_cpu_ns(run.child.pid()) - before;
    const GuestAddress start{reinterpret_cast<std::uint64_t>(&spin_for)};
    for (const auto& each : run.seen) {
        CHECK(each.pid == run.child.pid());
        CHECK(each.tid == run.child.pid());
        // Without registers, the host has taken the processor away for a moment.
        if (!each.cpu) continue;
        CHECK(!each.system_call);
        CHECK(each.cpu->rip >= start);
        CHECK(each.cpu->rip - start < 256);
    }
    // The kernel's count of a running thread may be some milliseconds old.
    CHECK(run.in_code_ns <= ran + 20'000'000);
    // A busy machine lets it wait, and looks miss some of what it ran.
    CHECK(run.in_code_ns * 4 >= ran);
}

TEST_CASE("a thread that the kernel works for is found in its system call") {
    LookedAt run(call_the_kernel);
    REQUIRE(run.until([&] { return run.seen.size() >= 20; }));
    CHECK(run.in_kernel_ns > 5 * run.in_code_ns);
}

TEST_CASE("a thread that sleeps is left alone") {
    LookedAt run([] {
        while (true) ::usleep(20'000'000);
        return 0;
    });
    REQUIRE(wait_until([&] { return is_asleep(run.child.pid()); }));
    static_cast<void>((*run.target)->take_event_stops());
    for (int i = 0; i < 10; ++i) {
        CHECK(!(*run.target)->is_active(run.child.pid()));
        CHECK(run.looks.look(*run.tree, {}, Clock::now()).empty());
    }
    CHECK(!run.hub.poll());
    StackCopy stack;
    CHECK(!(*run.target)->look(::getpid(), stack, page_bytes));
}

TEST_CASE("many threads do not use up our descriptors") {
    constexpr std::size_t many = 300;
    Shared<std::atomic<std::size_t>> born;
    LookedAt run([&] {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < many; ++i)
            threads.emplace_back([&] {
                ++*born;
                while (true) ::usleep(20'000'000);
            });
        for (auto& each : threads) each.join();
        return 0;
    });
    REQUIRE(run.until([&] { return *born == many; }));
    const auto count_descriptors = [] {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return std::distance(begin(all), end(all));
    };
    const auto before = count_descriptors();
    for (const pid_t tid : (*run.target)->thread_ids())
        static_cast<void>((*run.target)->is_active(tid));
    CHECK(count_descriptors() == before);
}

TEST_CASE("the thread that runs is found among many that sleep, for the time that it ran") {
    constexpr std::size_t sleepers = 20;
    Shared<std::atomic<std::size_t>> born;
    LookedAt run([&] {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < sleepers; ++i)
            threads.emplace_back([&] {
                ++*born;
                while (true) ::usleep(20'000'000);
            });
        while (*born != sleepers) ::usleep(100);
        return static_cast<int>(spin_for(~std::uint64_t{0}));
    });
    REQUIRE(run.until([&] { return *born == sleepers; }));
    run.seen.clear();
    run.in_code_ns = 0;
    const auto before = read_cpu_ns(run.child.pid());
    REQUIRE(run.until([&] { return run.seen.size() >= 10; }));
    const auto ran = read_cpu_ns(run.child.pid()) - before;
    const auto is_of_leader = [&](const auto& each) { return each.tid == run.child.pid(); };
    CHECK(std::ranges::count_if(run.seen, is_of_leader) >= 9);
    CHECK(run.in_code_ns <= ran + 20'000'000);
    CHECK(run.in_code_ns * 4 >= ran);
}

TEST_CASE("a thread is looked at where it runs, and not from another processor") {
    LookedAt run([] { return static_cast<int>(spin_for(~std::uint64_t{0})); });
    run.looks.look(*run.tree, {}, Clock::now());
    std::vector<SeenThread> seen;
    const auto look = [&](auto here) {
        return wait_until([&] {
            const auto processor = run.looks.processor_to_visit(*run.tree);
            if (!processor) return false;
            seen = run.looks.look(*run.tree, here(*processor), Clock::now());
            return !seen.empty();
        });
    };
    CHECK(look([](int processor) { return processor; }));
    for (int i = 0; i < 10; ++i) {
        run.looks.processor_to_visit(*run.tree);
        CHECK(run.looks.look(*run.tree, CPU_SETSIZE, Clock::now()).empty());
    }
}

TEST_CASE("a moment that we were late for is left out, unless most are") {
    LookedAt run([] { return static_cast<int>(spin_for(~std::uint64_t{0})); });
    const auto look_after = [&](Clock::duration delay) {
        const auto moment = run.looks.next() + delay;
        std::this_thread::sleep_until(moment);
        // A thread that did not stop in time at the last look may have done so since.
        while (const auto event = run.hub.poll()) run.tree->handle(*event);
        return run.looks.look(*run.tree, {}, moment);
    };
    run.looks.look(*run.tree, {}, Clock::now());
    for (int i = 0; i < 5; ++i) look_after({});
    CHECK(run.looks.late() == 0);
    const auto next = run.looks.next();
    CHECK(look_after(std::chrono::milliseconds(1)).empty());
    CHECK(run.looks.late() == 1);
    CHECK(run.looks.next() > next);
    CHECK(wait_until([&] { return !look_after(std::chrono::milliseconds(1)).empty(); }));
}

TEST_CASE("looks are rarer where they cost more") {
    LookedAt run([] { return static_cast<int>(spin_for(~std::uint64_t{0})); });
    const auto begin = Clock::now();
    run.looks = ThreadLooks(1, 1e-9);
    REQUIRE(run.until([&] { return !run.seen.empty(); }));
    CHECK(run.looks.next() - begin > std::chrono::milliseconds(400));
}

}  // namespace shadowprof::thread_looks_test
