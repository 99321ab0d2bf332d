// Parts of a sample that do not count (SampleCollector::set_counting).
#include <doctest/doctest.h>

#include "profile/collect/test_programs.h"

namespace shadowprof::counting_test {
namespace {

using namespace testing;

constexpr CollectorOptions all_of_it = {.are_samples = false};

TEST_CASE("Parts that count are as samples of their own") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const auto program = some_program();
        TestRun together(all_of_it), apart(all_of_it);
        std::uint64_t instructions = 0, expected = 0;
        together.begin();
        for (int part = 0; part < 12; ++part) {
            const bool counts = random.coin(0.5);
            Words words(1 + random.next() % 200);
            for (auto& word : words) word = random.next() % program.blocks.size();
            together.collector.set_counting(0, counts);
            // Two parts that count are samples of their own as well.
            together.collector.cut_paths();
            instructions += together.add(program, words).instructions;
            if (counts) expected += apart.sample(program, words).instructions;
        }
        together.collector.end();
        CHECK(instructions == expected);
        CHECK(together.profile.check());
        const auto a = together.result(), b = apart.result();
        CHECK(a.edges == b.edges);
        CHECK(a.paths == b.paths);
    }
}

TEST_CASE("Calls are followed where nothing counts") {
    TestProgram program;
    const auto call = program.add(0x1000, Terminator::call, 0x2000);
    const auto function = program.add(0x2000, Terminator::ret);
    TestRun run({.limits = {.keeps_callers = true}, .are_samples = false});
    run.begin({0x1000});
    run.collector.set_counting(0, false);
    CHECK(run.add(program, {call}).instructions == 0);
    run.collector.set_counting(0, true);
    CHECK(run.add(program, {function}).instructions == 3);
    run.collector.end();
    const auto stacks = run.result().stacks;
    REQUIRE(stacks.size() == 1);
    CHECK(stacks[0].frames.size() == 2);
    CHECK(stacks[0].instructions == 3);
}

TEST_CASE("Values count only where instructions do") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(plain, {{0, 53, 8, 1, ValueSlot::no_source, 0}});
    TestRun run(all_of_it);
    run.begin();
    for (int i = 0; i < 10; ++i) {
        run.collector.set_counting(0, i % 2 == 0);
        run.add(program, {valued, 7, valued, 7});
    }
    run.collector.end();
    const auto values = run.result().values;
    REQUIRE(values.size() == 1);
    CHECK(values[0].count == 10);
}

TEST_CASE("Each thread counts by itself") {
    TestProgram program;
    const auto loop = program.add(0x1000, Terminator::jump, 0x1000);
    TestRun run(all_of_it);
    run.begin();
    run.collector.begin_thread(1, {});
    run.collector.set_counting(1, false);
    const auto words = batch({loop, loop});
    std::uint64_t counted = 0;
    for (std::uint32_t turn = 0; turn < 6; ++turn)
        counted += run.collector.add(turn % 2, words, program.table()).instructions;
    run.collector.end();
    CHECK(counted == 3 * 2 * 3);
    CHECK(run.profile.check());
}

}  // namespace
}  // namespace shadowprof::counting_test
