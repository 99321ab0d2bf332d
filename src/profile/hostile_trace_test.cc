// Traces and tables as no emulator writes them: a worker process may be subverted.
#include <doctest/doctest.h>

#include <limits>

#include "profile/test_traces.h"

namespace shadowprof {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

constexpr std::uint16_t rax = 53;  // any register

TEST_CASE("an id that cannot be ends the sample, and what came before counts") {
    for (std::uint64_t bad :
         {std::uint64_t{2}, std::uint64_t{1} << 31, std::uint64_t{1} << 32,
          (std::uint64_t{1} << 32) | 1, std::numeric_limits<std::uint64_t>::max()}) {
        for (std::size_t position : {0u, 1u, 5u, 8u, 200u}) {
            CAPTURE(bad);
            CAPTURE(position);
            TestRun run;
            TestProgram program;
            const auto a = program.add(0x1000, Terminator::jump, 0x1000, 2);
            const auto b = program.add(0x5000, Terminator::none);
            Words words(position, a);
            words.push_back(bad);
            words.insert(words.end(), 50, b);
            run.begin();
            const BatchResult first = run.add(program, words);
            CHECK(first.damaged);
            CHECK(first.instructions == 2 * position);
            const BatchResult second = run.add(program, {a, a});
            CHECK(second.damaged);
            CHECK(second.instructions == 0);
            run.collector.end();
            const Profile p = run.result();
            CHECK(p.sampling.counters.at("samples_damaged") == 1);
            CHECK_FALSE(p.notes.empty());
            CHECK(run.profile.check().has_value());
        }
    }
}

TEST_CASE("a sample after a damaged one is whole again") {
    TestRun run;
    TestProgram program;
    const auto a = program.add(0x1000, Terminator::jump, 0x1000);
    run.sample(program, {a, 99});
    const BatchResult result = run.sample(program, {a, a});
    CHECK_FALSE(result.damaged);
    CHECK(run.result().edges[0].count == 1);
}

TEST_CASE("blocks that cannot be are refused") {
    TestProgram program;
    program.add(0x1000, Terminator::jump, 0x1000);
    const BlockInfo good = program.blocks[0];
    auto refused = [&](auto change) {
        TestProgram bad = program;
        change(bad.blocks[0]);
        TestRun run;
        return run.sample(bad, {0}).damaged;
    };
    CHECK_FALSE(refused([](BlockInfo&) {}));
    CHECK(refused([&](BlockInfo& b) { b.end = good.start; }));
    CHECK(refused([&](BlockInfo& b) { b.end = good.last; }));
    CHECK(refused([&](BlockInfo& b) { b.last = good.start - 1; }));
    CHECK(refused([&](BlockInfo& b) { b.end = good.start + (1 << 20); }));
    CHECK(refused([&](BlockInfo& b) { b.start = {~std::uint64_t{0}}; }));
    CHECK(refused([&](BlockInfo& b) { b.instructions = 0; }));
    CHECK(refused([&](BlockInfo& b) { b.instructions = 17; }));
    CHECK(refused([&](BlockInfo& b) { b.terminator = static_cast<Terminator>(9); }));
    CHECK(refused([&](BlockInfo& b) { b.level = static_cast<TraceLevel>(2); }));
    CHECK(refused([&](BlockInfo& b) { b.value_words = 1; }));
    CHECK(refused([&](BlockInfo& b) { b.slots = 1; }));
    CHECK(refused([&](BlockInfo& b) {
        b.level = TraceLevel::values;
        b.slots = 1;
    }));
}

TEST_CASE("value slots that cannot be are refused") {
    auto refused = [&](ValueSlot slot, auto change) {
        TestProgram program;
        const auto id = program.add(0x1000, Terminator::none);
        const auto valued = program.with_values(id, {slot});
        change(program.blocks[valued]);
        TestRun run;
        return run.sample(program, {valued, 1, 2, 3, 4, 5, 6, 7, 8}).damaged;
    };
    auto as_it_is = [](BlockInfo&) {};
    CHECK_FALSE(refused({0, rax, 64, 8, 0}, as_it_is));
    CHECK(refused({16, rax, 8, 1, 0}, as_it_is));
    CHECK(refused({0, rax, 0, 1, 0}, as_it_is));
    CHECK(refused({0, rax, 3, 1, 0}, as_it_is));
    CHECK(refused({0, rax, 128, 8, 0}, as_it_is));
    CHECK(refused({0, rax, 16, 1, 0}, as_it_is));
    CHECK(refused({0, rax, 8, 9, 0}, as_it_is));
    CHECK(refused({0, 0xffff, 8, 1, 0}, as_it_is));
    CHECK(refused({0, rax, 8, 1, 0}, [](BlockInfo& b) { b.first_slot = 1; }));
    CHECK(refused({0, rax, 8, 1, 0}, [](BlockInfo& b) { b.first_slot = ~0u; }));
    CHECK(refused({0, rax, 8, 1, 0}, [](BlockInfo& b) { b.slots = b.value_words = 2; }));
    CHECK(refused({0, rax, 8, 1, 0}, [](BlockInfo& b) { b.value_words = 2; }));
    CHECK(refused({0, rax, 8, 2, 0}, [](BlockInfo& b) { b.value_words = 1; }));
}

TEST_CASE("values without words that cannot be are refused") {
    auto refused = [](ValueSlot third) {
        TestProgram program;
        const auto id = program.add(0x1000, Terminator::none);
        const auto valued = program.with_values(
            id, {{0, rax, 8, 1}, {0, rax, 16, 2}, {4, rax, 8, 0, 0, 1}, third, {4, rax, 8, 1}});
        TestRun run;
        return run.sample(program, {valued, 1, 2, 3, 4}).damaged;
    };
    constexpr auto none = ValueSlot::no_source;
    CHECK_FALSE(refused({4, rax, 8, 0, none, -1}));
    CHECK_FALSE(refused({4, rax, 1, 0, 0, -1}));
    CHECK(refused({4, rax, 16, 0, none, 0}));
    CHECK(refused({4, rax, 16, 0, 0, 0}));
    CHECK(refused({4, rax, 8, 0, 1, 0}));  // wide
    CHECK(refused({4, rax, 8, 0, 2, 0}));  // without words
    CHECK(refused({4, rax, 8, 0, 3, 0}));  // itself
    CHECK(refused({4, rax, 8, 0, 4, 0}));  // later
    CHECK(refused({4, rax, 8, 0, 5, 0}));
    CHECK(refused({4, rax, 8, 0, none - 1, 0}));
}

TEST_CASE("a record that ends too early does not count and reads nothing behind the batch") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::none, 0, 2);
    const auto valued = program.with_values(plain, {{0, rax, 64, 8, 0}, {4, rax, 8, 1, 0}});
    for (std::size_t words = 0; words < 9; ++words) {
        TestRun run;
        Words trace = {plain, valued};
        for (std::uint64_t i = 0; i < words; ++i) trace.push_back(i);
        CHECK(run.sample(program, trace).instructions == 2);
        CHECK(run.result().values.empty());
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("the rest of a record does not reach into the next sample") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::none, 0, 2);
    const auto valued = program.with_values(plain, {{0, rax, 8, 1, 0}});
    TestRun run;
    run.sample(program, {valued});
    CHECK(run.sample(program, {plain, plain}).instructions == 4);
    CHECK(run.result().values.empty());
}

TEST_CASE("random words do no harm") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::conditional, 0x1000);
    program.with_values(plain, {{0, rax, 16, 2, 0}, {4, rax, 4, 1, 0}});
    program.add(0x2000, Terminator::ret);
    program.add(0x3000, Terminator::indirect_call);
    Random random(11);
    for (int round = 0; round < 300; ++round) {
        TestRun run;
        run.begin({0x1000, 0x9000});
        for (int batches = 0; batches < 4; ++batches) {
            Words words(random.next() % 300);
            for (auto& word : words)
                word = random.next() % 100 == 0 ? random.next() : random.next() % 4;
            run.add(program, words);
        }
        run.collector.end();
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("random tables do no harm") {
    Random random(13);
    for (int round = 0; round < 2000; ++round) {
        TestProgram program;
        for (int i = 0; i < 4; ++i) {
            const auto id = program.add(0x1000 + 16 * (random.next() % 8),
                                        static_cast<Terminator>(random.next() % 9), 0x1000);
            if (random.coin(0.5)) program.with_values(id, {{0, rax, 8, 1, 0}, {4, rax, 32, 4, 0}});
        }
        auto* bytes = reinterpret_cast<unsigned char*>(program.blocks.data());
        const std::size_t size = program.blocks.size() * sizeof(BlockInfo);
        for (int i = 0; i < 3; ++i) {
            const std::size_t at = random.next() % size;
            bytes[at] = static_cast<unsigned char>(bytes[at] ^ (1u << random.next() % 8));
        }
        Words words(200);
        for (auto& word : words) word = random.next() % program.blocks.size();
        TestRun run;
        run.sample(program, words, {0x1000});
        CHECK(run.profile.check().has_value());
    }
}

}  // namespace
}  // namespace shadowprof
