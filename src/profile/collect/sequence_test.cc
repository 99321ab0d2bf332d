// Records of sequences of blocks count as the blocks do.
#include <doctest/doctest.h>

#include <map>

#include "profile/collect/test_programs.h"

namespace shadowprof::sequence_test {
namespace {

using namespace testing;

constexpr auto none = ValueSlot::no_source;

TEST_CASE("however a trace is cut into sequences, its profile is the same") {
    Random random(5);
    for (int round = 0; round < 60; ++round) {
        TestProgram program = some_program();
        TestRun single, joined;
        for (int sample = 0; sample < 3; ++sample) {
            Words plain(random.next() % 700);
            for (auto& word : plain) word = random.next() % 12;
            // Repetitions, so that transitions are taken more than once.
            const Words once = plain;
            for (int i = 0; i < 3; ++i) plain.insert(plain.end(), once.begin(), once.end());
            const auto cut = with_sequences(program, plain, random);
            const auto a = single.sample(program, plain, {0x1000, 0x9000});
            const auto b = joined.sample(program, cut, {0x1000, 0x9000});
            CHECK(a.instructions == b.instructions);
        }
        const Profile expected = single.result(), got = joined.result();
        CHECK(got.edges == expected.edges);
        CHECK(got.paths == expected.paths);
        CHECK(got.stacks == expected.stacks);
        CHECK(got.calls == expected.calls);
        CHECK(joined.profile.check().has_value());
    }
}

TEST_CASE("a sequence may be skipped in part") {
    TestProgram program = some_program();
    const std::vector<BlockId> parts = {0, 4, 8, 3, 7, 0, 5};
    const auto whole = program.sequence(parts);
    const Words plain(parts.begin(), parts.end());
    for (std::uint64_t skip = 1; skip < 40; ++skip) {
        CAPTURE(skip);
        TestRun single, joined;
        for (auto* run : {&single, &joined}) {
            run->begin({0x1000}, skip);
            run->add(program, run == &single ? plain : Words{whole});
            run->add(program, plain);
            run->collector.end();
        }
        CHECK(joined.result().paths == single.result().paths);
        CHECK(joined.profile.check().has_value());
    }
}

TEST_CASE("sequences that cannot be are refused") {
    auto refused = [](auto change) {
        TestProgram program = some_program();
        const auto id = program.sequence({0, 1, 2});
        const auto other = program.sequence({3, 4});
        const auto valued = program.with_values(5, {{0, 53, 8, 1, none, 0}});
        change(program, program.blocks[id], other, valued);
        TestRun run;
        return run.sample(program, {id, 0}).damaged;
    };
    CHECK_FALSE(refused([](auto&, auto&, auto, auto) {}));
    CHECK(refused([](auto& p, auto&, auto other, auto) { p.parts[1] = other; }));
    CHECK(refused([](auto& p, auto&, auto, auto valued) { p.parts[1] = valued; }));
    CHECK(refused([](auto& p, auto&, auto, auto) { p.parts[2] = 1000; }));
    CHECK(refused([](auto& p, auto&, auto, auto) { p.blocks[1].instructions = 0; }));
    CHECK(refused([](auto&, auto& row, auto, auto) { row.parts = 400; }));
    CHECK(refused([](auto&, auto& row, auto, auto) { row.first_part = ~0u; }));
    CHECK(refused([](auto& p, auto& row, auto, auto) {
        p.parts.assign(max_sequence_parts + 1, 0);
        row.first_part = 0;
        row.parts = max_sequence_parts + 1;
    }));
}

}  // namespace
}  // namespace shadowprof::sequence_test
