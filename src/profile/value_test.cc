// Values on their way from a trace into a profile.
#include <Zydis/Zydis.h>
#include <doctest/doctest.h>

#include <cstring>

#include "profile/test_traces.h"

namespace shadowprof {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

constexpr std::uint16_t reg_al = ZYDIS_REGISTER_AL, reg_eax = ZYDIS_REGISTER_EAX,
                        reg_rax = ZYDIS_REGISTER_RAX, reg_ymm0 = ZYDIS_REGISTER_YMM0;

const ValueProfile* find_site(const Profile& p, std::uint64_t address) {
    for (const ValueProfile& v : p.values)
        if (v.at == at(address)) return &v;
    return nullptr;
}

std::uint64_t value_of(const TopValue& top) {
    std::uint64_t value = 0;
    std::memcpy(&value, top.value.data(), std::min<std::size_t>(8, top.value.size()));
    return value;
}

TEST_CASE("values belong to their instruction and operand, cut to its width") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, 0}, {4, reg_al, 1, 1, 0}});
    const std::uint64_t big = 0x1122334455667788;
    run.sample(program, {valued, big, 0xffffff07, valued, big, 0xaaaaaa07, valued, 5, 0x08});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 2);
    const ValueProfile* wide = find_site(p, 0x1000);
    REQUIRE(wide);
    CHECK(wide->operand == "rax");
    CHECK(wide->width_bytes == 8);
    CHECK(wide->count == 3);
    REQUIRE(wide->top.size() == 2);
    CHECK(value_of(wide->top[0]) == big);
    CHECK(wide->top[0].count == 2);
    CHECK(wide->top[0].error == 0);
    CHECK(wide->invariance == doctest::Approx(2.0 / 3));
    const ValueProfile* narrow = find_site(p, 0x1004);
    REQUIRE(narrow);
    CHECK(narrow->operand == "al");
    REQUIRE(narrow->top.size() == 2);
    CHECK(narrow->top[0].value == std::vector{std::byte{7}});
    CHECK(narrow->top[0].count == 2);
}

TEST_CASE("records with values are executed blocks like any other") {
    TestRun run;
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(plain, {{0, reg_rax, 8, 1, 0}});
    run.sample(program, {plain, valued, 7, plain, valued, 7});
    const Profile p = run.result();
    REQUIRE(p.edges.size() == 1);
    CHECK(p.edges[0].count == 3);
    CHECK(p.sampling.counters.at("blocks") == 1);
    CHECK(find_site(p, 0x1000)->count == 2);
    CHECK(run.profile.check().has_value());
}

TEST_CASE("one record with values among many without is seen, at every place") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(plain, {{0, reg_rax, 8, 1, 0}});
    for (std::ptrdiff_t place = 0; place <= 40; ++place) {
        CAPTURE(place);
        Words trace(40, plain);
        trace.insert(trace.begin() + place, {valued, 0});
        TestRun run;
        CHECK(run.sample(program, trace).instructions == 41 * 3);
        CHECK(run.result().values.at(0).count == 1);
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("vector values are kept whole, low bytes at the low address") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_ymm0, 32, 4, 0}});
    run.sample(program, {valued, 4, 3, 2, 1});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].operand == "ymm0");
    REQUIRE(p.values[0].top[0].value.size() == 32);
    Words words(4);
    std::memcpy(words.data(), p.values[0].top[0].value.data(), 32);
    CHECK(words == Words{1, 2, 3, 4});
}

TEST_CASE("vector values that differ in one word only are different") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_ymm0, 32, 4, 0}});
    run.sample(program, {valued, 4, 3, 2, 1, valued, 5, 3, 2, 1, valued, 4, 3, 2, 0});
    CHECK(run.result().values[0].top.size() == 3);
}

TEST_CASE("an instruction in two blocks has one value profile") {
    TestRun run;
    TestProgram program;
    const auto outer = program.add(0x1000, Terminator::none);
    const auto inner = program.add(0x1004, Terminator::none);
    const auto a = program.with_values(outer, {{8, reg_eax, 4, 1, 0}});
    const auto b = program.with_values(inner, {{4, reg_eax, 4, 1, 0}});
    run.sample(program, {a, 1, b, 1});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].count == 2);
}

TEST_CASE("a trace with values may be cut anywhere, also inside a record") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued =
        program.with_values(plain, {{0, reg_ymm0, 32, 4, 0}, {4, reg_rax, 8, 1, 0}});
    const auto other = program.add(0x1010, Terminator::none);
    Words trace;
    for (std::uint64_t i = 0; i < 12; ++i)
        trace.insert(trace.end(), {valued, 4, 3, 2, i % 3, i % 2, other});
    TestRun whole;
    const auto expected = whole.sample(program, trace).instructions;
    const Profile wanted = whole.result();
    for (std::size_t first = 0; first <= trace.size(); ++first) {
        for (std::size_t second : {first, first + 1, first + 3, trace.size()}) {
            if (second > trace.size()) continue;
            CAPTURE(first);
            CAPTURE(second);
            TestRun run;
            const auto cut = [&](std::size_t from, std::size_t to) {
                return run
                    .add(program, Words(trace.begin() + static_cast<std::ptrdiff_t>(from),
                                        trace.begin() + static_cast<std::ptrdiff_t>(to)))
                    .instructions;
            };
            run.begin();
            const auto sum = cut(0, first) + cut(first, second) + cut(second, trace.size());
            run.collector.end();
            CHECK(sum == expected);
            const Profile p = run.result();
            REQUIRE(p.values.size() == 2);
            for (std::size_t i = 0; i < 2; ++i) {
                CHECK(p.values[i].count == wanted.values[i].count);
                REQUIRE(p.values[i].top.size() == wanted.values[i].top.size());
                for (std::size_t k = 0; k < p.values[i].top.size(); ++k) {
                    CHECK(p.values[i].top[k].value == wanted.values[i].top[k].value);
                    CHECK(p.values[i].top[k].count == wanted.values[i].top[k].count);
                }
            }
            CHECK(p.edges.size() == wanted.edges.size());
        }
    }
}

TEST_CASE("values can be left out") {
    TestRun run({.values = false});
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none, 0, 2);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, 0}});
    CHECK(run.sample(program, {valued, 1, valued, 2}).instructions == 4);
    CHECK(run.result().values.empty());
}

TEST_CASE("TNV tables are filled on request, beside the counting samples") {
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, 0}});
    TestRun without, with({.tnv = true});
    without.sample(program, {valued, 1});
    with.sample(program, {valued, 1, valued, 1});
    CHECK(without.result().values[0].top_tnv.empty());
    const Profile p = with.result();
    REQUIRE(p.values[0].top_tnv.size() == 1);
    CHECK(p.values[0].top_tnv[0].count == 2);
    CHECK(p.values[0].top[0].count == 2);
}

TEST_CASE("the values of two emulators add up") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, 0}});
    SampleCollector& other = run.profile.add_collector();
    run.sample(program, {valued, 1, valued, 2});
    other.begin({run.resolver, {}, 0});
    other.add(batch({valued, 2, valued, 3}), program.table());
    other.end();
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].count == 4);
    REQUIRE(p.values[0].top.size() == 3);
    CHECK(value_of(p.values[0].top[0]) == 2);
    CHECK(p.values[0].top[0].count == 2);
    CHECK(p.values[0].invariance == doctest::Approx(0.5));
}

}  // namespace
}  // namespace shadowprof
