// Adding profiles.
#include "profile/merge/merge.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace shadowprof::merge_test {
namespace {

TopValue top(int value, std::uint64_t count, double error = 0) {
    return {{static_cast<std::byte>(value)}, count, error};
}

TEST_CASE("values by caller add up by their callers") {
    const auto by = [](std::uint32_t module, std::uint64_t caller, std::uint8_t value,
                       std::uint64_t count) {
        return CallerValues{
            .callers = {{module, caller}}, .count = count, .top = {{{std::byte{value}}, count, 0}}};
    };
    Profile sum, more;
    sum.modules = {{"/a", "01", 0}};
    more.modules = {{"/b", "02", 0}, {"/a", "01", 0}};
    sum.values = {{.at = {0, 1}, .operand = "al", .width_bytes = 1, .count = 30}};
    more.values = {{.at = {1, 1}, .operand = "al", .width_bytes = 1, .count = 12}};
    sum.values[0].by_caller = {by(0, 0x10, 7, 20), by(0, 0x20, 8, 10)};
    more.values[0].by_caller = {by(1, 0x20, 9, 12)};
    merge_into(sum, more);
    REQUIRE(sum.values.size() == 1);
    const auto& list = sum.values[0].by_caller;
    REQUIRE(list.size() == 2);
    CHECK(list[0].count == 22);
    CHECK(list[0].callers[0].address == 0x20);
    CHECK(share_of(list[0].invariance) == doctest::Approx(12.0 / 22));
    REQUIRE(list[0].top.size() == 2);
    CHECK(list[0].top[0].value == std::vector{std::byte{9}});
    CHECK(list[1].count == 20);

    // A caller in a module that does not exist.
    more.values[0].by_caller = {by(7, 0x20, 9, 12)};
    merge_into(sum, more);
    REQUIRE(sum.values.size() == 1);
    CHECK(sum.values[0].count == 54);
    CHECK(sum.values[0].by_caller.size() == 2);
    CHECK(sum.values[0].by_caller[0].count == 22);
}

TEST_CASE("a profile added to an empty one is the same profile") {
    Profile more;
    more.modules = {{"/bin/a", "aa", 10}};
    more.edges = {{{0, 1}, {0, 2}, EdgeKind::taken, 5}};
    more.sampling.samples = 3;
    more.notes = {"a note"};
    Profile sum;
    sum.sampling.mode = more.sampling.mode;
    merge_into(sum, more);
    REQUIRE(sum.modules.size() == 1);
    REQUIRE(sum.edges.size() == 1);
    CHECK(sum.edges[0].count == 5);
    CHECK(sum.sampling.samples == 3);
    CHECK(sum.notes == more.notes);
}

TEST_CASE("items are the same where module and address are, wherever the module is listed") {
    Profile sum, more;
    sum.modules = {{"/bin/a", "aa", 10}, {"/lib/b", "bb", 20}};
    more.modules = {{"/elsewhere/b", "bb", 20}, {"/bin/a", "aa", 10}, {"[anon]", "", 0}};
    sum.edges = {{{0, 1}, {1, 2}, EdgeKind::call, 5}};
    more.edges = {{{1, 1}, {0, 2}, EdgeKind::call, 7}, {{2, 1}, {2, 2}, EdgeKind::jump, 100}};
    sum.stacks = {{{{0, 1}, {1, 2}}, 10, 1}};
    more.stacks = {{{{1, 1}, {0, 2}}, 20, 2}};
    sum.paths = {{{{0, 1}}, 4, 1}};
    more.paths = {{{{1, 1}}, 4, 2}, {{{1, 1}}, 5, 1}};
    sum.calls = {{{0, 1}, {1, 2}, 5}};
    more.calls = {{{1, 1}, {0, 2}, 6}};
    merge_into(sum, more);
    CHECK(sum.modules.size() == 3);
    REQUIRE(sum.edges.size() == 2);
    CHECK(sum.edges[0].count == 100);  // the hottest first
    CHECK(sum.edges[0].from == CodeLocation{2, 1});
    CHECK(sum.edges[1].count == 12);
    REQUIRE(sum.stacks.size() == 1);
    CHECK(sum.stacks[0].instructions == 30);
    CHECK(sum.stacks[0].samples == 3);
    REQUIRE(sum.paths.size() == 2);
    CHECK(sum.paths[0].count == 3);
    CHECK(sum.calls[0].count == 11);
}

TEST_CASE("errors of counts add up by squares, where both are known") {
    Profile sum, more;
    sum.modules = more.modules = {{"/bin/a", "aa", 10}};
    const auto fill = [](Profile& profile, double error) {
        profile.edges = {{{0, 1}, {0, 2}, EdgeKind::call, 100, error}};
        profile.paths = {{{{0, 1}}, 4, 100, error}};
        profile.stacks = {{{{0, 1}}, 100, 1, error}};
        profile.calls = {{{0, 1}, {0, 2}, 100, error}};
        profile.methods = {{{0, 1}, 1, 1, 100, error}};
    };
    fill(sum, 3);
    fill(more, 4);
    more.edges.push_back({{0, 5}, {0, 2}, EdgeKind::jump, 1, 0.5});
    merge_into(sum, more);
    CHECK(sum.edges[0].error == 5);
    CHECK(sum.edges[1].error == 0.5);
    CHECK(sum.paths[0].error == 5);
    CHECK(sum.stacks[0].error == 5);
    CHECK(sum.calls[0].error == 5);
    CHECK(sum.methods[0].error == 5);
    more.edges[0].error.reset();
    merge_into(sum, more);
    CHECK_FALSE(sum.edges[0].error);
}

TEST_CASE("processes are listed together, hottest first, and the rest is summed up") {
    Profile sum, more;
    sum.processes = {{.pid = 1, .instructions = 50}, {.pid = 2, .instructions = 10}};
    sum.other_processes = {.count = 3, .samples = 2, .instructions = 9};
    for (int i = 0; i < 300; ++i)
        more.processes.push_back({.pid = 100 + i,
                                  .parent = 1,
                                  .seconds = 1.0 / (1 + i),
                                  .samples = 1,
                                  .instructions = 20});
    merge_into(sum, more);
    REQUIRE(sum.processes.size() == 256);
    CHECK(sum.processes[0].pid == 1);
    CHECK(sum.processes[1].pid == 100);
    CHECK(sum.processes[255].pid == 354);
    // 45 of the 300, and the process with 10 instructions.
    CHECK(sum.other_processes == OtherProcesses{3 + 46, 2 + 45, 9 + 45 * 20 + 10});
}

TEST_CASE("modules differ where build-ids do, and where only one has a build-id") {
    Profile sum, more;
    sum.modules = {{"/bin/a", "aa", 10}, {"/bin/b", "", 10}};
    more.modules = {{"/bin/a", "ff", 10}, {"/bin/b", "bb", 10}};
    merge_into(sum, more);
    CHECK(sum.modules.size() == 4);
    merge_into(sum, more);
    CHECK(sum.modules.size() == 4);
}

TEST_CASE("items of modules that are not there are left out and noted") {
    Profile sum, more;
    more.modules = {{"/bin/a", "aa", 10}};
    more.edges = {{{0, 1}, {5, 2}, EdgeKind::call, 7}};
    more.paths = {{{{0, 1}, {~0u, 1}}, 1, 1}};
    merge_into(sum, more);
    CHECK(sum.edges.empty());
    CHECK(sum.paths.empty());
    REQUIRE(sum.notes.size() == 1);
    CHECK(sum.notes[0].find("2 items") != std::string::npos);
}

TEST_CASE("value counts add up, and errors by squares") {
    Profile sum, more;
    sum.modules = more.modules = {{"/bin/a", "aa", 10}};
    sum.values = {{.at = {0, 1},
                   .operand = "al",
                   .width_bytes = 1,
                   .count = 100,
                   .top = {top(1, 60, 3), top(2, 30, 3)}}};
    more.values = {{.at = {0, 1},
                    .operand = "al",
                    .width_bytes = 1,
                    .count = 300,
                    .top = {top(2, 200, 4), top(3, 50, 4)}}};
    merge_into(sum, more);
    REQUIRE(sum.values.size() == 1);
    const ValueProfile& v = sum.values[0];
    CHECK(v.count == 400);
    REQUIRE(v.top.size() == 3);
    CHECK(v.top[0].value == top(2, 0).value);
    CHECK(v.top[0].count == 230);
    CHECK(v.top[0].error == doctest::Approx(5));
    CHECK(share_of(v.invariance) == doctest::Approx(230.0 / 400));
    // A value that one list does not name may still have been there.
    CHECK(v.top[1].count == 60);
    CHECK(v.top[1].error > 4);
}

TEST_CASE("values of two types have the one that says more") {
    const ValueType bits{ValueType::Kind::bits, 16}, longs{ValueType::Kind::integer, 8},
        ints{ValueType::Kind::integer, 4}, doubles{ValueType::Kind::floating, 8};
    const auto merged = [](ValueType a, ValueType b) {
        Profile sum, more;
        sum.modules = more.modules = {{"/bin/a", "aa", 10}};
        sum.values = {{.at = {0, 1}, .operand = "xmm1", .width_bytes = 16, .type = a, .count = 1}};
        more.values = {{.at = {0, 1}, .operand = "xmm1", .width_bytes = 16, .type = b, .count = 1}};
        merge_into(sum, more);
        REQUIRE(sum.values.size() == 1);
        return sum.values[0].type;
    };
    CHECK(merged(bits, doubles) == doubles);
    CHECK(merged(doubles, ints) == doubles);
    CHECK(merged(bits, longs) == longs);
    CHECK(merged(longs, ints) == ints);
    CHECK(merged(bits, bits) == bits);
}

TEST_CASE("threads are the same by process, id and name") {
    Profile a, b;
    a.threads = {{1, 2, "x", 3, 100, 7}, {1, 3, "y", 1, 10, 8}};
    b.threads = {{1, 3, "y", 2, 200, 9}, {1, 2, "z", 1, 5}};
    merge_into(a, b);
    CHECK(a.threads == std::vector<ThreadProfile>{
                           {1, 3, "y", 3, 210, 17}, {1, 2, "x", 3, 100, 7}, {1, 2, "z", 1, 5, 0}});
}

TEST_CASE("a sum of exact and sampled runs says that the exact ones outweigh the others") {
    Profile exact, sampled;
    exact.sampling.mode = "exact";
    sampled.sampling.mode = "shadow";
    Profile sum, exact_ones;
    for (const Profile& each : {sampled, sampled}) merge_into(sum, each);
    CHECK(sum.notes.empty());
    for (const Profile& each : {exact, exact}) merge_into(exact_ones, each);
    CHECK(exact_ones.notes.empty());
    CHECK_FALSE(has_unequal_runs(sum));
    merge_into(sum, exact);
    CHECK(sum.notes.size() == 1);
    CHECK(has_unequal_runs(sum));
    merge_into(sum, exact);
    merge_into(sampled, sum);
    CHECK(sampled.notes == sum.notes);
}

TEST_CASE("bursts add up, and have settings where all have the same") {
    Profile a;
    a.sampling.samples = 1;
    a.sampling.bursts = BurstStats{.every = 100,
                                   .events = "calls",
                                   .lengths = {{"edge", 1}},
                                   .events_counted = 5000,
                                   .bursts = 49,
                                   .bursts_by_kind = {{"edge", 40}, {"value", 9}},
                                   .events_in_bursts = {{"edge", 49}}};
    a.sampling.changes = {{1.5, 1, "disable"}};
    Profile sum;
    merge_into(sum, a);
    CHECK(sum.sampling.bursts == a.sampling.bursts);
    merge_into(sum, a);
    CHECK(sum.sampling.bursts->every == 100);
    CHECK(sum.sampling.bursts->events_counted == 10'000);
    CHECK(sum.sampling.bursts->bursts == 98);
    CHECK(sum.sampling.bursts->bursts_by_kind.at("value") == 18);
    CHECK(sum.sampling.bursts->events_in_bursts.at("edge") == 98);
    CHECK(sum.sampling.changes.size() == 2);
    Profile other = a;
    other.sampling.bursts->every = 200;
    merge_into(sum, other);
    CHECK(sum.sampling.bursts->every == 0);
    CHECK(sum.sampling.bursts->lengths.empty());
    CHECK(sum.sampling.bursts->events_counted == 15'000);
    Profile own = a;
    own.sampling.bursts->own_every = {{"edge", 7}};
    merge_into(own, a);
    CHECK(own.sampling.bursts->every == 0);
    CHECK(own.sampling.bursts->own_every.empty());
    Profile without;
    without.sampling.samples = 1;
    merge_into(without, a);
    CHECK(without.sampling.bursts->every == 0);
    CHECK(without.sampling.bursts->bursts == 49);
}

TEST_CASE("of very many changes the first are kept, and the others counted") {
    Profile a;
    a.sampling.changes.assign(60, {1, 1, "disable"});
    a.sampling.changes_left_out = 1;
    Profile sum = a;
    merge_into(sum, a);
    CHECK(sum.sampling.changes.size() == max_sampling_changes);
    CHECK(sum.sampling.changes_left_out == 22);
}

TEST_CASE("what is known of one profile only is not made up") {
    Profile sum, more;
    sum.sampling.target_instructions = 100;
    more.sampling.target_instructions = std::nullopt;
    sum.sampling.mode = "live";
    more.sampling.mode = "shadow";
    sum.overhead.pause = {1, 2, 30};
    more.overhead.pause = {2, 9, 10};
    more.sampling.ended["size"] = 4;
    merge_into(sum, more);
    CHECK_FALSE(sum.sampling.target_instructions.has_value());
    CHECK(sum.sampling.mode == "mixed");
    CHECK(sum.overhead.pause.p99_us == 9);
    CHECK(sum.overhead.pause.max_us == 30);
    CHECK(sum.sampling.ended["size"] == 4);
}

TEST_CASE("times are those of all that was sampled, or of nothing") {
    Profile timed, untimed;
    timed.modules = untimed.modules = {{"/bin/a", "aa", 10}};
    timed.sampling.samples = untimed.sampling.samples = 3;
    timed.sampling.counters = {{"blocks", 2}, {"looks", 5}, {"looks_lost", 0}};
    timed.times = {{{0, 1}, 5, 50}};
    timed.threads = {{.pid = 1, .tid = 1, .name = "a", .samples = 3, .time_ns = 50}};
    untimed.sampling.counters = {{"blocks", 1}};

    Profile both = timed;
    merge_into(both, timed);
    CHECK(both.times == std::vector<PlaceTime>{{{0, 1}, 10, 100}});
    CHECK(both.threads[0].time_ns == 100);

    for (const auto& [first, second] : {std::pair(timed, untimed), std::pair(untimed, timed)}) {
        Profile sum = first;
        merge_into(sum, second);
        CHECK(sum.times.empty());
        CHECK(sum.threads[0].time_ns == 0);
        CHECK(sum.threads[0].samples == 3);
        CHECK(sum.sampling.counters == decltype(sum.sampling.counters){{"blocks", 3}});
    }
    Profile sum;
    merge_into(sum, timed);
    CHECK(sum.times == timed.times);

    // The order of threads does not depend on times that were dropped.
    Profile threads = timed;
    threads.threads = {{.pid = 1, .tid = 2, .name = "b", .time_ns = 50},
                       {.pid = 1, .tid = 1, .name = "a", .time_ns = 20}};
    merge_into(threads, untimed);
    REQUIRE(threads.threads.size() == 2);
    CHECK(threads.threads[0].tid == 1);
}

TEST_CASE("counts from a forged file do no harm") {
    constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
    Profile sum, more;
    sum.modules = more.modules = {{"/bin/a", "aa", 10}};
    sum.values = more.values = {{.at = {0, 1},
                                 .operand = "al",
                                 .width_bytes = 1,
                                 .count = huge,
                                 .top = {top(1, huge, std::nan("")), top(1, huge, -1e308)}}};
    merge_into(sum, more);
    CHECK(sum.values.size() == 1);
    CHECK(share_of(sum.values[0].invariance) <= 1);
}

}  // namespace
}  // namespace shadowprof::merge_test
