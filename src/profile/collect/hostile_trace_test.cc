// Traces and tables that no emulator writes, as a worker process may be subverted.
#include <doctest/doctest.h>

#include <limits>

#include "profile/collect/test_traces.h"

namespace shadowprof::hostile_trace_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

constexpr auto none = ValueSlot::no_source;

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
    CHECK(refused([&](BlockInfo& b) { b.level = TraceLevel::none; }));
    CHECK(refused([&](BlockInfo& b) { b.value_words = 1; }));
    CHECK(refused([&](BlockInfo& b) { b.slots = 1; }));
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
    CHECK_FALSE(refused({0, rax, 64, 8, none, 0}, as_it_is));
    CHECK(refused({16, rax, 8, 1, none, 0}, as_it_is));
    CHECK(refused({0, rax, 0, 1, none, 0}, as_it_is));
    CHECK(refused({0, rax, 3, 1, none, 0}, as_it_is));
    CHECK(refused({0, rax, 128, 8, none, 0}, as_it_is));
    CHECK(refused({0, rax, 8, 0, none, 0}, as_it_is));
    CHECK(refused({0, rax, 16, 1, none, 0}, as_it_is));
    CHECK(refused({0, rax, 8, 9, none, 0}, as_it_is));
    CHECK(refused({0, 0xffff, 8, 1, none, 0}, as_it_is));
    CHECK(refused({0, rax, 8, 1, none, 0, {static_cast<ValueType::Kind>(3), 8}}, as_it_is));
    CHECK(refused({0, rax, 8, 1, none, 0, {ValueType::Kind::floating, 0}}, as_it_is));
    CHECK(refused({0, rax, 8, 1, none, 0, {ValueType::Kind::bits, 255}}, as_it_is));
    CHECK(refused({0, rax, 8, 1, none, 0}, [](BlockInfo& b) { b.first_slot = 1; }));
    CHECK(refused({0, rax, 8, 1, none, 0}, [](BlockInfo& b) { b.first_slot = ~0u; }));
    CHECK(refused({0, rax, 8, 1, none, 0}, [](BlockInfo& b) { b.slots = b.value_words = 2; }));
    CHECK(refused({0, rax, 8, 1, none, 0}, [](BlockInfo& b) { b.value_words = 2; }));
    CHECK(refused({0, rax, 8, 2, none, 0}, [](BlockInfo& b) { b.value_words = 1; }));
}

TEST_CASE("values that take no words must be known from a good one") {
    auto refused = [&](ValueSlot source, ValueSlot slot) {
        TestProgram program;
        const auto id = program.add(0x1000, Terminator::none);
        const auto valued = program.with_values(id, {source, slot});
        Words trace(1 + program.blocks[valued].value_words);
        trace[0] = valued;
        TestRun run;
        return run.sample(program, trace).damaged;
    };
    const ValueSlot good{0, rax, 8, 1, none, 0};
    CHECK_FALSE(refused(good, {4, rax, 8, 0, 0, 5}));
    CHECK_FALSE(refused(good, {4, rax, 8, 0, none, 5}));
    CHECK_FALSE(refused(good, {4, rax, 64, 0, none, 5}));
    CHECK(refused(good, {4, rax, 16, 0, 0, 5}));  // wider than a word
    CHECK(refused(good, {4, rax, 8, 0, 1, 5}));   // the slot itself
    CHECK(refused(good, {4, rax, 8, 0, 2, 5}));   // no slot of the block
    CHECK(refused(good, {4, rax, 8, 0, 0xfffe, 5}));
    CHECK(refused(good, {16, rax, 8, 0, 0, 5}));
    CHECK(refused(good, {4, rax, 3, 0, 0, 5}));
    CHECK(refused(good, {4, 0xffff, 8, 0, 0, 5}));
    CHECK(refused({0, rax, 16, 2, none, 0}, {4, rax, 8, 0, 0, 5}));
    CHECK(refused({0, rax, 8, 2, none, 0}, {4, rax, 8, 0, 0, 5}));
    CHECK(refused({0, rax, 8, 0, none, 1}, {4, rax, 8, 0, 0, 5}));  // not in the trace
}

TEST_CASE("tables cannot name more values than there is memory for") {
    TestProgram program;
    program.add(0x1000, Terminator::none);
    program.slots.assign(0xffff, {0, rax, 8, 0, none, 5});
    BlockInfo block = program.blocks[0];
    block.level = TraceLevel::values;
    block.slots = 0xffff;
    Words trace;
    for (std::uint64_t i = 0; i < 100; ++i) {
        trace.push_back(program.blocks.size());
        program.blocks.push_back(block);
    }
    TestRun run;
    const auto result = run.sample(program, trace);
    CHECK(result.damaged);
    CHECK(result.instructions == 64 * 3);
}

TEST_CASE("sequences whose values cannot be are refused") {
    auto refused = [](auto change) {
        TestProgram program;
        const auto a = program.add(0x1000, Terminator::none);
        const auto b = program.with_values(a, {{0, rax, 8, 1, none, 0}, {4, rax, 8, 0, 0, 5}});
        const auto id = program.sequence({b, a, b});
        change(program, program.blocks[id], program.blocks[b]);
        TestRun run;
        Words trace(1 + program.blocks[id].value_words);
        trace[0] = id;
        return run.sample(program, trace).damaged;
    };
    CHECK_FALSE(refused([](auto&, auto&, auto&) {}));
    CHECK(refused([](auto&, auto& row, auto&) { row.value_words = 1; }));
    CHECK(refused([](auto&, auto& row, auto&) { row.value_words = 3; }));
    CHECK(refused([](auto&, auto& row, auto&) { row.slots = 1; }));
    CHECK(refused([](auto& p, auto& row, auto&) { p.parts[2] = BlockId(&row - p.blocks.data()); }));
    CHECK(refused([](auto&, auto&, auto& part) { part.value_words = 2; }));
    CHECK(refused([](auto&, auto&, auto& part) { part.first_slot = 1; }));
    CHECK(refused([](auto& p, auto&, auto&) { p.slots[1].source = 1; }));
}

TEST_CASE("a record that ends too early does not count and reads nothing behind the batch") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::none, 0, 2);
    const auto valued =
        program.with_values(plain, {{0, rax, 64, 8, none, 0}, {4, rax, 8, 1, none, 0}});
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
    const auto valued = program.with_values(plain, {{0, rax, 8, 1, none, 0}});
    TestRun run;
    run.sample(program, {valued});
    CHECK(run.sample(program, {plain, plain}).instructions == 4);
    CHECK(run.result().values.empty());
}

TEST_CASE("random words do no harm") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::conditional, 0x1000);
    program.with_values(plain, {{0, rax, 16, 2, none, 0}, {4, rax, 4, 1, none, 0}});
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

// Blocks, some of them with values, and sequences of blocks.
TestProgram random_program(Random& random) {
    TestProgram program;
    std::vector<BlockId> blocks;
    for (int i = 0; i < 4; ++i) {
        blocks.push_back(program.add(0x1000 + 16 * (random.next() % 8),
                                     static_cast<Terminator>(random.next() % 9), 0x1000));
        if (random.coin(0.5))
            blocks.push_back(program.with_values(blocks.back(), {{0, rax, 8, 1, none, 0},
                                                                 {4, rax, 32, 4, none, 0},
                                                                 {6, rax, 4, 0, 0, 5},
                                                                 {8, rax, 2, 0, none, 5}}));
    }
    for (int i = 0; i < 3; ++i) {
        std::vector<BlockId> parts(1 + random.next() % 5);
        for (auto& part : parts) part = blocks[random.next() % blocks.size()];
        program.sequence(parts);
    }
    return program;
}

template <typename Row>
void flip_bit(std::vector<Row>& rows, Random& random) {
    if (rows.empty()) return;
    auto* bytes = reinterpret_cast<unsigned char*>(rows.data());
    const std::size_t at = random.next() % (rows.size() * sizeof(Row));
    bytes[at] = static_cast<unsigned char>(bytes[at] ^ (1u << random.next() % 8));
}

void flip_bit(TestProgram& program, Random& random) {
    switch (random.next() % 4) {
        case 0:
            return flip_bit(program.slots, random);
        case 1:
            return flip_bit(program.parts, random);
        default:
            return flip_bit(program.blocks, random);
    }
}

Words random_ids(const TestProgram& program, std::size_t length, Random& random) {
    Words words(length);
    for (auto& word : words) word = random.next() % program.blocks.size();
    return words;
}

TEST_CASE("random tables do no harm") {
    Random random(13);
    for (int round = 0; round < 3000; ++round) {
        TestProgram program = random_program(random);
        for (int i = 0; i < 3; ++i) flip_bit(program, random);
        TestRun run;
        run.begin({0x1000});
        for (int batches = 0; batches < 3; ++batches)
            run.add(program, random_ids(program, random.next() % 200, random));
        run.collector.end();
        CHECK(run.profile.check().has_value());
    }
}

// Changes the trace while it is read, whenever it is asked where a block lies.
class ChangingResolver final : public AddressResolver {
  public:
    ChangingResolver(TestProgram& program, Words& words, Random& random)
        : program_(program), words_(words), random_(random) {}
    CodeLocation resolve(GuestAddress address) override {
        for (int i = 0; i < 3; ++i) {
            flip_bit(program_, random_);
            if (!words_.empty())
                words_[random_.next() % words_.size()] = random_.next() % program_.blocks.size();
        }
        return {0, address.value};
    }

  private:
    TestProgram& program_;
    Words& words_;
    Random& random_;
};

TEST_CASE("what changes while it is read does no harm") {
    Random random(17);
    for (int round = 0; round < 1000; ++round) {
        TestProgram program = random_program(random);
        Words words;
        ChangingResolver resolver(program, words, random);
        TestRun run;
        run.collector.begin({resolver, {}, random.next() % 2 * 20});
        for (int batches = 0; batches < 3; ++batches) {
            words = random_ids(program, random.next() % 200, random);
            run.collector.add(words, program.table());
        }
        run.collector.end();
        CHECK(run.profile.check().has_value());
    }
}

}  // namespace
}  // namespace shadowprof::hostile_trace_test
