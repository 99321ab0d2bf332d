// Where no callers of records are asked for, a collector adds transitions at the second time only.
// It must count the same as one that adds them at once.
#include <doctest/doctest.h>

#include "profile/collect/test_programs.h"

namespace shadowprof::first_sights_test {
namespace {

using namespace testing;

CollectorOptions without_values(bool keeps_callers = true) {
    return {.values = false, .limits = {.keeps_callers = keeps_callers}};
}

// Some parts of the trace repeat, so that there are second and later times.
Words some_trace(Random& random, std::uint64_t blocks, std::size_t longest) {
    Words trace;
    while (trace.size() < longest) {
        Words part(1 + random.next() % 40);
        for (auto& word : part) word = random.next() % blocks;
        for (std::uint64_t times = random.next() % 4; times != 0; --times)
            trace.insert(trace.end(), part.begin(), part.end());
    }
    return trace;
}

void check_same(TestRun& some, TestRun& other) {
    const Profile a = some.result(), b = other.result();
    CHECK(a.edges == b.edges);
    CHECK(a.paths == b.paths);
    CHECK(a.stacks == b.stacks);
    CHECK(a.calls == b.calls);
    CHECK(a.sampling.counters.at("mismatched_returns") ==
          b.sampling.counters.at("mismatched_returns"));
    CHECK(some.profile.check().has_value());
    CHECK(other.profile.check().has_value());
}

// Several samples of two threads, in batches that end anywhere.
void collect(TestRun& run, TestProgram& program, std::uint64_t seed, const BurstPlan* bursts) {
    Random random(seed);
    for (std::uint32_t sample = 1; sample < 4; ++sample) {
        const std::vector<GuestAddress> stack = {{0x1000}, {0x9000}};
        run.collector.begin({.resolver = run.resolver,
                             .stack = stack,
                             .skip_instructions = random.next() % 30,
                             .weight = sample,
                             .bursts = bursts,
                             .seed = seed + sample});
        for (int i = 0; i < 12; ++i) {
            const Words words =
                with_sequences(program, some_trace(random, 12, random.next() % 200), random);
            run.collector.add(static_cast<std::uint32_t>(random.next() % 2), batch(words),
                              program.table());
        }
        run.collector.end();
    }
}

TEST_CASE("counts do not depend on when transitions are added") {
    const BurstPlan bursts{.events = {}, .every = 20, .lengths = {{1, 3, 2}}};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        for (const BurstPlan* plan : {static_cast<const BurstPlan*>(nullptr), &bursts}) {
            TestRun at_first, at_second(without_values());
            for (auto* run : {&at_first, &at_second}) {
                TestProgram program = some_program();
                collect(*run, program, seed, plan);
                run->collector.new_emulator();
            }
            check_same(at_first, at_second);
            const auto a = at_first.profile.burst_counts(), b = at_second.profile.burst_counts();
            CHECK(a.events == b.events);
            CHECK(a.bursts == b.bursts);
            CHECK(a.events_on.numbers == b.events_on.numbers);
        }
    }
}

TEST_CASE("counts do not depend on when transitions are added, where the graph becomes full") {
    const GraphFillingStream stream;
    // Which stacks are folded depends on when the graph is full. So none are.
    CollectorOptions first, second = without_values();
    first.limits.stack_bytes = second.limits.stack_bytes = std::uint64_t{1} << 32;
    TestRun at_first(first), at_second(second);
    for (auto* run : {&at_first, &at_second}) run->sample(stream.program, stream.trace, {0x1000});
    check_same(at_first, at_second);
    CHECK(at_second.result().sampling.counters.at("graphs_emptied") > 0);
}

TEST_CASE("without callers, edges and paths are the same, and stacks are their functions") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        TestRun with(without_values()), without(without_values(false));
        for (auto* run : {&with, &without}) {
            TestProgram program = some_program();
            collect(*run, program, seed, nullptr);
        }
        const Profile a = with.result(), b = without.result();
        CHECK(a.edges == b.edges);
        CHECK(a.paths == b.paths);
        CHECK(a.calls == b.calls);
        for (const Stack& stack : b.stacks) CHECK(stack.frames.size() == 1);
        CHECK(without.profile.check().has_value());
    }
}

}  // namespace
}  // namespace shadowprof::first_sights_test
