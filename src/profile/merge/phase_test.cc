// Profiles of phases, and that they add up to the whole.
#include "profile/merge/phase.h"

#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"
#include "profile/merge/join.h"
#include "profile/merge/merge.h"

namespace shadowprof::phase_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

// Two loops. The test chooses the values of the second block of each.
class Loops {
  public:
    Loops() {
        for (const std::uint64_t start : {0x1000u, 0x2000u}) {
            const auto head = program.add(start, Terminator::conditional, start + 0x20);
            const auto body = program.add(start + 0x10, Terminator::jump, start);
            heads_.push_back(head);
            bodies_.push_back(program.with_values(body, {{0, 53, 8, 1, 0}}));
        }
    }
    // A sample of one loop.
    void sample(TestRun& run, std::size_t loop, std::uint32_t weight, std::uint64_t rounds,
                std::uint64_t value) {
        Words words;
        for (std::uint64_t i = 0; i < rounds; ++i)
            words.insert(words.end(), {heads_[loop], bodies_[loop], value});
        words.push_back(heads_[loop]);
        run.begin_weighted(weight, {0x1000 * (loop + 1), 0x9001});
        run.add(program, words);
        run.collector.end();
    }

    TestProgram program;

  private:
    std::vector<BlockId> heads_, bodies_;
};

// Makes profiles of the phases of a run.
class Phases {
  public:
    explicit Phases(TestRun& run) : run_(run) {}

    Profile next() {
        Profile so_far;
        run_.profile.fill_at_end_of_phase(so_far);
        Profile phase = phase_between(so_far, before_);
        // Merging drops records without a module.
        phase.modules = {{"/program", {}, 1}};
        before_ = std::move(so_far);
        return phase;
    }

  private:
    TestRun& run_;
    Profile before_;
};

std::uint64_t instructions(const Profile& profile) {
    std::uint64_t sum = 0;
    for (const Stack& stack : profile.stacks) sum += stack.instructions;
    return sum;
}

bool is_of(const Profile& profile, std::uint64_t first, std::uint64_t last) {
    return std::ranges::all_of(profile.edges, [&](const Edge& edge) {
        return first <= edge.from.address && edge.from.address < last;
    });
}

// Checks that all counts are the same.
void check_same_counts(const Profile& a, const Profile& b) {
    const auto check = [](const auto& of_a, const auto& of_b, auto count) {
        REQUIRE(of_a.size() == of_b.size());
        for (const auto& item : of_a) {
            const auto same = std::ranges::find_if(
                of_b, [&](const auto& each) { return identity(each) == identity(item); });
            REQUIRE(same != of_b.end());
            CHECK(count(*same) == count(item));
        }
    };
    check(a.edges, b.edges, [](const Edge& e) { return e.count; });
    check(a.paths, b.paths, [](const Path& p) { return p.count; });
    check(a.values, b.values, [](const ValueProfile& v) { return v.count; });
    check(a.stacks, b.stacks,
          [](const Stack& s) { return std::tuple(s.instructions, s.samples, s.time_ns); });
}

TEST_CASE("phases of unlike weights add up to the whole, and each has its own code alone") {
    TestRun run;
    Loops loops;
    Phases phases(run);
    Random random(7);
    const auto sample = [&](std::size_t loop, std::uint32_t max_weight) {
        loops.sample(run, loop, 1 + static_cast<std::uint32_t>(random.next() % max_weight),
                     10 + random.next() % 50, loop);
    };
    for (int i = 0; i < 20; ++i) sample(0, 700);
    run.profile.fix_scale({1000, 350'000});
    const Profile first = phases.next();
    for (int i = 0; i < 30; ++i) sample(1, 9000);
    const Profile second = phases.next();
    const Profile third = phases.next();
    for (int i = 0; i < 5; ++i) sample(0, 50);
    const Profile fourth = phases.next();
    CHECK(is_of(first, 0x1000, 0x2000));
    CHECK(is_of(second, 0x2000, 0x3000));
    CHECK(third.edges.empty());
    CHECK(third.stacks.empty());
    CHECK(third.values.empty());
    CHECK(is_of(fourth, 0x1000, 0x2000));
    CHECK(instructions(second) > instructions(first));

    Profile whole, sum = first;
    run.profile.fill(whole);
    for (const Profile& phase : {second, third, fourth}) merge_into(sum, phase);
    check_same_counts(sum, whole);
    CHECK(sum.sampling.counters == whole.sampling.counters);
}

TEST_CASE("a phase has the errors that its samples have by themselves") {
    TestRun run, alone;
    Loops loops;
    Phases phases(run), phases_alone(alone);
    for (auto* each : {&run, &alone}) each->profile.fix_scale({1, 10});
    for (int i = 0; i < 400; ++i) loops.sample(run, 0, 10, 50, 0);
    phases.next();
    for (std::uint64_t i = 0; i < 40; ++i) {
        // A small part of the whole run.
        loops.sample(run, i % 2, 10, 20 + i % 7, 0);
        loops.sample(alone, i % 2, 10, 20 + i % 7, 0);
        // Filling makes the batches the same.
        Profile unused;
        for (auto* each : {&run, &alone}) each->profile.fill(unused);
    }
    const Profile phase = phases.next(), expected = phases_alone.next();
    check_same_counts(phase, expected);
    REQUIRE(phase.edges.size() == expected.edges.size());
    for (std::size_t i = 0; i < phase.edges.size(); ++i) {
        REQUIRE(expected.edges[i].error.has_value());
        REQUIRE(phase.edges[i].error.has_value());
        CHECK(*phase.edges[i].error == doctest::Approx(*expected.edges[i].error).epsilon(1e-3));
    }
    REQUIRE(phase.stacks[0].error.has_value());
    CHECK(*phase.stacks[0].error == doctest::Approx(*expected.stacks[0].error).epsilon(1e-3));
    CHECK(phase.function_batches.sizes.size() == expected.function_batches.sizes.size());
    CHECK(phase.function_batches.parts.size() == expected.function_batches.parts.size());
}

TEST_CASE("a phase has its own values") {
    TestRun run;
    Loops loops;
    Phases phases(run);
    run.profile.fix_scale({1, 1});
    loops.sample(run, 0, 1, 100, 7);
    phases.next();
    loops.sample(run, 0, 1, 60, 9);
    const Profile phase = phases.next();
    REQUIRE(phase.values.size() == 1);
    CHECK(phase.values[0].count == 60);
    REQUIRE(phase.values[0].top.size() == 1);
    CHECK(phase.values[0].top[0].value[0] == std::byte{9});
    CHECK(phase.values[0].top[0].count == 60);
}

TEST_CASE("what is counted otherwise is that of the phase") {
    Profile earlier, later;
    earlier.run = {.started = "2026-11-23T23:59:50Z", .seconds = 20.5};
    later.run = {.started = "2026-11-23T23:59:50Z", .seconds = 30};
    earlier.sampling.samples = 10, later.sampling.samples = 14;
    earlier.sampling.ended = {{"size", 10}}, later.sampling.ended = {{"size", 12}, {"idle", 2}};
    earlier.sampling.counters = {{"a", 5}, {"given_up", 3}},
    later.sampling.counters = {{"a", 5}, {"b", 1}};
    earlier.sampling.changes = {{1, 3, "disable"}};
    later.sampling.changes = {{1, 3, "disable"}, {25, 10, "enable"}};
    earlier.overhead.stops = 3, later.overhead.stops = 8;
    earlier.syscalls.by_name = {{"read", 4}}, later.syscalls.by_name = {{"read", 6}, {"write", 1}};
    earlier.threads = {
        {.pid = 1, .tid = 1, .name = "old", .samples = 4, .instructions = 100, .time_ns = 7}};
    later.threads = {
        {.pid = 1, .tid = 1, .name = "new", .samples = 6, .instructions = 130, .time_ns = 9}};
    earlier.times = {{{0, 1}, 5, 50}, {{0, 2}, 1, 10}};
    later.times = {{{0, 1}, 5, 50}, {{0, 2}, 4, 40}, {{0, 3}, 1, 10}};
    later.notes = {"of the whole run"};
    const Profile phase = phase_between(later, earlier);
    CHECK(phase.run.started == "2026-11-24T00:00:10Z");
    CHECK(phase.run.seconds == doctest::Approx(9.5));
    CHECK(phase.sampling.samples == 4);
    CHECK(phase.sampling.ended == std::map<std::string, std::uint64_t>{{"size", 2}, {"idle", 2}});
    CHECK(phase.sampling.counters == std::map<std::string, std::uint64_t>{{"a", 0}, {"b", 1}});
    REQUIRE(phase.sampling.changes.size() == 1);
    CHECK(phase.sampling.changes[0].what == "enable");
    CHECK(phase.overhead.stops == 5);
    CHECK(phase.syscalls.by_name ==
          std::map<std::string, std::uint64_t>{{"read", 2}, {"write", 1}});
    REQUIRE(phase.threads.size() == 1);
    CHECK(phase.threads[0].name == "new");
    CHECK(phase.threads[0].instructions == 30);
    CHECK(phase.threads[0].time_ns == 2);
    CHECK(phase.times == std::vector<PlaceTime>{{{0, 2}, 3, 30}, {{0, 3}, 1, 10}});
    CHECK(phase.notes.empty());
}

TEST_CASE("processes that are not listed any more lose no counts") {
    const auto process = [](std::int64_t pid, std::uint64_t samples) {
        return ProcessInfo{.pid = pid, .samples = samples, .instructions = 10 * samples};
    };
    Profile earlier, later;
    earlier.processes = {process(1, 5), process(2, 4)};
    // Process 2 is among the others now, and process 3 was there before.
    later.processes = {process(3, 9), process(1, 5)};
    earlier.other_processes = {.count = 1, .samples = 3, .instructions = 30};
    later.other_processes = {.count = 1, .samples = 6, .instructions = 60};
    const Profile phase = phase_between(later, earlier);
    std::uint64_t samples = phase.other_processes.samples;
    for (const ProcessInfo& each : phase.processes) samples += each.samples;
    CHECK(samples == 20 - 12);
}

TEST_CASE("probes of a phase have what came in it") {
    Profile earlier, later;
    const ProbeEntry before{
        .key = std::uint64_t{1}, .count = 10, .sum = 50, .histogram = {{3, 10}}};
    const ProbeEntry after{
        .key = std::uint64_t{1}, .count = 12, .sum = 64, .histogram = {{3, 10}, {4, 2}}};
    earlier.probes = {{.name = "p", .hits = 10, .entries = {before}}};
    later.probes = {{.name = "p", .hits = 12, .entries = {after}}};
    const Profile phase = phase_between(later, earlier);
    REQUIRE(phase.probes[0].entries.size() == 1);
    const ProbeEntry& entry = phase.probes[0].entries[0];
    CHECK(phase.probes[0].hits == 2);
    CHECK(entry.count == 2);
    CHECK(entry.sum == 14);
    CHECK(entry.histogram == ProbeHistogram{{4, 2}});
}

TEST_CASE("a time that cannot be read is left as it is") {
    CHECK(time_after("2026-02-28T23:59:59Z", 2) == "2026-03-01T00:00:01Z");
    CHECK(time_after("", 2).empty());
    CHECK(time_after("yesterday", 2) == "yesterday");
}

TEST_CASE("what was folded since the last phase is subtracted from stacks with fewer calls") {
    const CodeLocation outer{0, 1}, inner{0, 2}, function{0, 9};
    Profile earlier, later;
    earlier.stacks = {{.frames = {outer, inner, function}, .instructions = 5, .samples = 1},
                      {.frames = {outer, function}, .instructions = 2}};
    later.stacks = {{.frames = {outer, function}, .instructions = 10, .samples = 3, .folded = 6},
                    {.frames = {outer, inner, function}, .instructions = 2}};
    const Profile phase = phase_between(later, earlier);
    REQUIRE(phase.stacks.size() == 1);
    CHECK(phase.stacks[0].instructions == 12 - 7);
    CHECK(phase.stacks[0].samples == 2);
}

}  // namespace
}  // namespace shadowprof::phase_test
