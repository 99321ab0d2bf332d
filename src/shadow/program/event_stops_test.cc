// Processes that stop too often are let go, and followed again.
#include "shadow/program/event_stops.h"

#include <doctest/doctest.h>

#include <atomic>

#include "ptrace/test_support.h"

namespace shadowprof::event_stops_test {
namespace {

using Clock = EventStops::Clock;

constexpr double price_ns = 20'000, share = 0.01;

struct Facts {
    std::atomic<bool> stop{false}, sleeps{false};
};

int raise_until_stopped(Facts& facts) {
    ::signal(SIGUSR1, [](int) {});
    while (!facts.stop) facts.sleeps ? (void)::usleep(1000) : (void)::raise(SIGUSR1);
    return 0;
}

}  // namespace

TEST_CASE("a process is let go when its stops have used up what it may lose") {
    Shared<Facts> facts;
    TestHub hub;
    Child child(hub, [&] { return raise_until_stopped(*facts); });
    auto target = Target::attach(hub, child.pid(), Forks::follow);
    need(target);
    ProcessTree tree(hub, **target, Clock::now());
    EventStops stops(price_ns);
    double seconds = 0;
    const auto handle_all = [&] {
        const auto woke = Clock::now();
        while (const auto event = hub.poll()) tree.handle(*event);
        seconds += stops.charge(tree, woke, Clock::now(), {}, share);
        tree.update(Clock::now());
    };
    CHECK(EventStops::find_used_up(tree) == nullptr);
    REQUIRE(wait_until([&] { return EventStops::find_used_up(tree) != nullptr; }, handle_all));
    CHECK(seconds > StopAllowance::first_seconds);
    SampledProcess& process = *EventStops::find_used_up(tree);
    CHECK(process.number == 0);
    const auto cost = stops.let_go(process);
    REQUIRE(cost.has_value());
    CHECK(*cost > 0);
    CHECK(process.target->is_let_go());
    CHECK(EventStops::find_used_up(tree) == nullptr);
    CHECK(tree.find(0) == &process);
    CHECK_FALSE(tree.has_nothing_to_sample());
    // It runs, so it is followed for a sample only.
    process.stops = {};
    CHECK(EventStops::find_waiting(tree) == nullptr);
    facts->sleeps = true;
    REQUIRE(wait_until([&] { return EventStops::find_waiting(tree) == &process; }));
    REQUIRE(stops.follow_again(process).has_value());
    CHECK_FALSE(process.target->is_let_go());
    CHECK(EventStops::find_waiting(tree) == nullptr);
    facts->stop = true;
    REQUIRE(wait_until([&] { return process.target->end().has_value(); }, handle_all));
    Profile profile;
    stops.fill(profile, true);
    CHECK(profile.sampling.counters.at("times_let_go") == 1);
    CHECK(profile.sampling.counters.at("event_stops") > 0);
    REQUIRE(profile.notes.size() == 1);
    CHECK(profile.notes[0].starts_with("processes were let go 1 time, "));
}

TEST_CASE("where no process was let go there is no note") {
    Profile profile;
    EventStops(price_ns).fill(profile, true);
    CHECK(profile.notes.empty());
    CHECK(profile.sampling.counters.at("event_stops") == 0);
}

}  // namespace shadowprof::event_stops_test
