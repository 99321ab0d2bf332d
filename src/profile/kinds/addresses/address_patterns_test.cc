// Address patterns and hazards from whole traces of an emulator.
#include "profile/kinds/addresses/address_patterns.h"

#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"

namespace shadowprof::address_patterns_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

constexpr std::uint16_t load = ReferenceSlot::load, store = ReferenceSlot::store;
constexpr std::uint16_t direct = ReferenceSlot::direct, copies = ReferenceSlot::copies;
constexpr std::uint16_t rax = 1, rbx = 8;

// A block whose first instruction loads through rbx, and into rbx if it chases.
ReferenceSlot load_slot(bool chases) {
    return {.instruction_offset = 0,
            .instruction = 0,
            .words = 1,
            .flags = static_cast<std::uint16_t>(load | direct | copies),
            .bytes = 8,
            .address_registers = rbx,
            .written = chases ? rbx : rax};
}

Profile profile_of(const Words& addresses, bool chases, std::size_t piece = 0) {
    TestRun run({.references = ReorderWindow{}});
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto loop = program.with_references(plain, {load_slot(chases)});
    run.begin();
    Words words;
    for (const auto address : addresses) words.insert(words.end(), {loop, address});
    piece = piece ? piece : words.size();
    for (std::size_t at = 0; at < words.size(); at += piece)
        run.add(program,
                {words.begin() + static_cast<std::ptrdiff_t>(at),
                 words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), at + piece))});
    run.collector.end();
    CHECK(run.profile.check().has_value());
    return run.result();
}

std::string_view pattern_of(const Profile& profile) {
    REQUIRE(profile.addresses.size() == 1);
    return main_pattern(profile.addresses[0].moves).row->name;
}

Words walk(std::size_t count, std::uint64_t (*next)(std::size_t)) {
    Words addresses;
    for (std::size_t i = 0; i < count; ++i) addresses.push_back(next(i));
    return addresses;
}

std::uint64_t same(std::size_t) {
    return 0x5000;
}
std::uint64_t backwards(std::size_t i) {
    return 0x100000 - 24 * i;
}
std::uint64_t scattered(std::size_t i) {
    return 0x100000 + (mix64(i) & 0xfff8);
}
// Rows of 50 elements of 8 bytes. Rows are 4096 bytes apart.
std::uint64_t rows(std::size_t i) {
    return 0x100000 + 4096 * (i / 50) + 8 * (i % 50);
}

}  // namespace

TEST_CASE("loads are known by how their addresses follow each other") {
    CHECK(pattern_of(profile_of(walk(100, same), false)) == "constant");
    const auto strided = profile_of(walk(100, backwards), false);
    CHECK(pattern_of(strided) == "stride");
    CHECK(strided.addresses[0].moves.stride() == -24);
    CHECK(strided.addresses[0].moves.strided() == 99);
    CHECK(strided.addresses[0].at == at(0x1000));
    CHECK(pattern_of(profile_of(walk(500, scattered), false)) == "irregular");
    CHECK(pattern_of(profile_of(walk(500, scattered), true)) == "chase");
    const auto matrix = profile_of(walk(1000, rows), false);
    CHECK(pattern_of(matrix) == "stride");
    CHECK(main_pattern(matrix.addresses[0].moves).share > 0.95);
    CHECK(matrix.addresses[0].moves.count() == 999);
}

TEST_CASE("a list that lies in memory in its order is a stride") {
    CHECK(pattern_of(profile_of(walk(100, backwards), true)) == "stride");
}

TEST_CASE("where a trace is cut does not change what references say") {
    const auto whole = profile_of(walk(300, scattered), true);
    for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u}) {
        const auto cut = profile_of(walk(300, scattered), true, piece);
        CHECK(cut.addresses == whole.addresses);
    }
}

TEST_CASE("bursts do not follow each other, nor do threads") {
    TestRun run({.references = ReorderWindow{}});
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto loop = program.with_references(plain, {load_slot(false)});
    // Blocks without references lie between the loads.
    run.sample(program, {loop, 0x100, plain, loop, 0x108, plain, plain, loop, 0x110});
    CHECK(run.result().addresses.empty());
    run.begin();
    const auto table = program.table();
    run.collector.add(0, batch({loop, 0x100}), table);
    run.collector.add(1, batch({loop, 0x108}), table);
    run.collector.add(0, batch({loop, 0x110}), table);
    run.collector.end();
    CHECK(run.result().addresses.empty());
    CHECK(run.result().sampling.counters.at("reference_instructions") == 18);
}

TEST_CASE("hazards name both places, count by weight and tell executions") {
    TestRun run({.references = ReorderWindow{}});
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const ReferenceSlot narrow{.instruction_offset = 0,
                               .instruction = 0,
                               .words = 1,
                               .flags = store,
                               .bytes = 4,
                               .address_registers = rbx};
    const ReferenceSlot wide{.instruction_offset = 4,
                             .instruction = 1,
                             .words = 0,
                             .source = 0,
                             .flags = load,
                             .addend = -2,
                             .bytes = 8,
                             .address_registers = rbx};
    const auto loop = program.with_references(plain, {narrow, wide});
    const auto twice = program.sequence({loop, loop});
    run.sample(program, {twice, 0x5010, 0x5110, loop, 0x5210});
    const auto profile = run.result();
    REQUIRE(profile.hazards.size() == 1);
    CHECK(profile.hazards[0] == Hazard{HazardKind::blocked, at(0x1000), at(0x1004), 3, 3});
}

TEST_CASE("what no emulator writes of references is refused") {
    const auto refused = [](const ReferenceSlot& slot, auto change) {
        TestRun run({.references = ReorderWindow{}});
        TestProgram program;
        const auto id = program.with_references(program.add(0x1000, Terminator::none),
                                                {load_slot(false), slot});
        change(program.blocks[id]);
        Words words(1 + program.blocks[id].value_words, 0x77);
        words[0] = id;
        return run.sample(program, words).damaged;
    };
    const auto as_it_is = [](BlockInfo&) {};
    ReferenceSlot good{.instruction_offset = 4,
                       .instruction = 1,
                       .words = 0,
                       .source = 0,
                       .flags = load,
                       .bytes = 8};
    CHECK_FALSE(refused(good, as_it_is));
    const auto wrong = [&](auto change) {
        ReferenceSlot slot = good;
        change(slot);
        return refused(slot, as_it_is);
    };
    CHECK(wrong([](ReferenceSlot& s) { s.source = 1; }));
    CHECK(wrong([](ReferenceSlot& s) { s.source = 0xfffe; }));
    CHECK(wrong([](ReferenceSlot& s) { s.words = 1; }));
    CHECK(wrong([](ReferenceSlot& s) { s.words = 2; }));
    CHECK(wrong([](ReferenceSlot& s) { s.instruction_offset = 16; }));
    CHECK(wrong([](ReferenceSlot& s) { s.instruction = 3; }));
    CHECK(wrong([](ReferenceSlot& s) { s.bytes = 0; }));
    CHECK(wrong([](ReferenceSlot& s) { s.flags = 0; }));
    CHECK(wrong([](ReferenceSlot& s) { s.flags = 0xffff; }));
    CHECK(wrong([](ReferenceSlot& s) { s.bytes = 0xffff; }));
    CHECK(refused(good, [](BlockInfo& b) { b.first_slot = ~0u; }));
    CHECK(refused(good, [](BlockInfo& b) { b.slots = 3; }));
    CHECK(refused(good, [](BlockInfo& b) { b.value_words = 2; }));
    CHECK(refused(good, [](BlockInfo& b) { b.level = TraceLevel::none; }));
}

TEST_CASE("sequences are of values or of references, not of both") {
    TestRun run({.references = ReorderWindow{}});
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::none);
    const auto values = program.with_values(plain, {{0, 53, 8, 1, ValueSlot::no_source, 0}});
    const auto references = program.with_references(plain, {load_slot(false)});
    const auto both = program.sequence({values, references});
    CHECK(run.sample(program, {both, 1, 2}).damaged);
}

}  // namespace shadowprof::address_patterns_test
