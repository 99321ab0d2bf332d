// The program's time by stack: each sample's instructions share its time evenly.
#include <doctest/doctest.h>

#include <map>

#include "profile/collect/test_programs.h"

namespace shadowprof::time_test {
namespace {

using namespace testing;

// Two functions with blocks of three instructions, and their samples.
struct TwoFunctions {
    TestProgram blocks;
    BlockId one = blocks.add(0x1000, Terminator::indirect_jump);
    BlockId other = blocks.add(0x2000, Terminator::indirect_jump);

    void sample(TestRun& run, int in_one, int in_other, SampleStart start) {
        Words words;
        words.insert(words.end(), static_cast<std::size_t>(in_one), one);
        words.insert(words.end(), static_cast<std::size_t>(in_other), other);
        run.collector.begin(start);
        run.add(blocks, words);
        run.collector.end();
    }
};

std::map<std::uint64_t, std::uint64_t> times(const Profile& profile) {
    std::map<std::uint64_t, std::uint64_t> times;
    for (const Stack& stack : profile.stacks) times[stack.frames.back().address] += stack.time_ns;
    return times;
}

TEST_CASE("instructions share their sample's time evenly, whatever the sample weighs") {
    for (const std::uint32_t weight : {1u, 1000u}) {
        TestRun run;
        TwoFunctions code;
        code.sample(run, 30, 10, {.resolver = run.resolver, .weight = weight, .time_ns = 4000});
        code.sample(run, 0, 400, {.resolver = run.resolver, .weight = 1, .time_ns = 1000});
        CHECK(times(run.result()) ==
              std::map<std::uint64_t, std::uint64_t>{{0x1000, 3000}, {0x2000, 2000}});
    }
}

TEST_CASE("a profile that is made while a sample goes on has part of its time") {
    TestRun run;
    TwoFunctions code;
    run.collector.begin(
        {.resolver = run.resolver, .time_ns = 1000, .expected_instructions = 3 * 100});
    run.add(code.blocks, Words(25, code.one));
    const auto before = times(run.result());
    CHECK(before.at(0x1000) >= 230);  // the last block may not have ended
    CHECK(before.at(0x1000) <= 250);
    run.add(code.blocks, Words(25, code.other));
    run.collector.end();
    auto all = times(run.result());
    CHECK(all[0x1000] + all[0x2000] >= 999);
    CHECK(all[0x1000] + all[0x2000] <= 1001);
    CHECK(all[0x2000] > 700);
}

TEST_CASE("a sample that is longer than expected has no more time than its own") {
    TestRun run;
    TwoFunctions code;
    run.collector.begin({.resolver = run.resolver, .time_ns = 1000, .expected_instructions = 30});
    run.add(code.blocks, Words(25, code.one));
    CHECK(times(run.result()).at(0x1000) <= 1000);
    run.add(code.blocks, Words(25, code.other));
    run.collector.end();
    auto all = times(run.result());
    CHECK(all[0x1000] + all[0x2000] <= 1001);
}

TEST_CASE("samples that fill the graph again and again have their time once") {
    GraphFillingStream stream;
    TestRun run;
    constexpr std::uint64_t time_ns = 1'000'000'000;
    run.collector.begin({.resolver = run.resolver,
                         .time_ns = time_ns,
                         .expected_instructions = 3 * stream.trace.size()});
    run.add(stream.program, stream.trace);
    run.collector.end();
    const Profile profile = run.result();
    REQUIRE(profile.sampling.counters.at("graphs_emptied") > 0);
    std::uint64_t all = 0;
    for (const Stack& stack : profile.stacks) all += stack.time_ns;
    CHECK(static_cast<double>(all) == doctest::Approx(double{time_ns}).epsilon(0.001));
}

TEST_CASE("what is no sample has no time") {
    TestRun run({.are_samples = false});
    TwoFunctions code;
    for (int i = 0; i < 20; ++i) code.sample(run, 1, 1, {.resolver = run.resolver});
    const Profile profile = run.result();
    for (const Stack& stack : profile.stacks) {
        CHECK(stack.time_ns == 0);
        CHECK_FALSE(stack.time_error_ns);
    }
    REQUIRE(run.profile.check());
}

}  // namespace
}  // namespace shadowprof::time_test
