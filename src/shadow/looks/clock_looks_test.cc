// What looks by the kernel's clock leave out, and what they stand for.
#include "shadow/looks/clock_looks.h"

#include <doctest/doctest.h>

#include "base/clock.h"
#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"

namespace shadowprof::clock_looks_test {
namespace {

using Clock = ClockLooks::Clock;
using namespace std::chrono_literals;

// A child that is looked at; `looks` is null where the clock is not for us.
struct LookedAt {
    explicit LookedAt(const std::function<int()>& body)
        : child(hub, body), target(Target::attach(hub, child.pid())) {
        tree.emplace(hub, *need(target), Clock::now());
        auto opened = ClockLooks::open(1, Looks::usual_share);
        if (opened)
            looks = std::move(*opened);
        else
            MESSAGE("not tested: ", opened.error().message);
    }
    bool until(const std::function<bool()>& condition) {
        return wait_until(condition, [&] {
            while (const auto event = hub.poll()) tree->handle(*event);
            tree->update(Clock::now());
            if (Clock::now() >= looks->next()) note(looks->look(*tree, {}, Clock::now()));
        });
    }
    // For several ticks, without a look.
    void let_run() const {
        const auto begin = read_cpu_ns(child.pid());
        CHECK(wait_until([&] { return read_cpu_ns(child.pid()) - begin > 60'000'000; }));
    }
    void note(const std::vector<SeenThread>& found) {
        for (const SeenThread& each : found) {
            ++seen;
            time_ns += each.time_ns;
        }
    }

    TestHub hub;
    Child child;
    Result<std::unique_ptr<Target>> target;
    std::optional<ProcessTree> tree;
    std::unique_ptr<ClockLooks> looks;
    std::uint64_t seen = 0, time_ns = 0;
};

int spin() {
    return static_cast<int>(spin_for(~std::uint64_t{0}));
}

}  // namespace

TEST_CASE("looks by the clock stand for the time that a thread ran") {
    LookedAt run(spin);
    if (!run.looks) return;
    REQUIRE(run.until([&] { return run.looks->next() != Clock::time_point{}; }));
    const auto before = read_cpu_ns(run.child.pid());
    run.time_ns = 0;
    REQUIRE(run.until([&] { return run.seen >= 30; }));
    const auto ran = read_cpu_ns(run.child.pid()) - before;
    CHECK(run.time_ns <= ran + 60'000'000);
    CHECK(run.time_ns * 2 >= ran);
}

TEST_CASE("what a thread does for us in a stop is not seen") {
    LookedAt run(spin);
    if (!run.looks) return;
    REQUIRE(run.until([&] { return run.seen >= 1; }));
    const auto before = run.seen;
    const auto all_begin = read_cpu_ns(run.child.pid());
    std::uint64_t in_stop = 0;
    {
        auto stop = (*run.target)->stop();
        REQUIRE(stop);
        for (auto& thread : stop->threads()) {
            auto session = (*run.target)->borrow(thread);
            REQUIRE(session);
            const auto begin = read_cpu_ns(run.child.pid());
            while (in_stop < 60'000'000) {
                REQUIRE(session->call(SYS_getpid, {}));
                in_stop = read_cpu_ns(run.child.pid()) - begin;
            }
        }
    }
    run.note(run.looks->look(*run.tree, {}, Clock::now()));
    const auto outside = read_cpu_ns(run.child.pid()) - all_begin - in_stop;
    // Those since the look before, those before the stop, and those behind it.
    const auto shortest_ns = to_ns(ClockLooks::usual_period) * 3 / 4;
    CHECK((run.seen - before) * shortest_ns <= outside + 2 * shortest_ns);
}

TEST_CASE("a process that was let go is seen") {
    LookedAt run(spin);
    if (!run.looks) return;
    REQUIRE(run.until([&] { return run.seen >= 1; }));
    REQUIRE((*run.target)->let_go());
    const auto before = run.seen;
    CHECK(run.until([&] { return run.seen >= before + 5; }));
    REQUIRE((*run.target)->seize_again());
    const auto again = run.seen;
    CHECK(run.until([&] { return run.seen >= again + 5; }));
}

TEST_CASE("a pause gives what was seen before it, and nothing counts until the next look") {
    LookedAt run(spin);
    if (!run.looks) return;
    REQUIRE(run.until([&] { return run.seen >= 5; }));
    run.let_run();
    run.note(run.looks->pause(*run.tree, Clock::now()));
    CHECK(run.seen >= 6);
    CHECK(run.looks->next() == Clock::time_point{});
    std::this_thread::sleep_for(200ms);
    CHECK(run.looks->pause(*run.tree, Clock::now()).empty());
    CHECK(run.looks->look(*run.tree, {}, Clock::now()).empty());
}

TEST_CASE("the last ticks of a process that has ended are not lost") {
    Shared<std::atomic<bool>> ends;
    LookedAt run([&] {
        while (!*ends) spin_for(100'000);
        return 0;
    });
    if (!run.looks) return;
    REQUIRE(run.until([&] { return run.seen >= 1; }));
    const auto before = run.seen;
    run.let_run();
    *ends = true;
    REQUIRE(pump_to_end(run.hub, **run.target));
    run.tree->update(Clock::now());
    run.note(run.looks->look(*run.tree, {}, Clock::now()));
    CHECK(run.seen > before);
}

}  // namespace shadowprof::clock_looks_test
