// Values, from a trace into a profile.
#include <Zydis/Zydis.h>
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>

#include "profile/collect/test_traces.h"

namespace shadowprof::value_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

constexpr auto none = ValueSlot::no_source;

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
    const auto valued =
        program.with_values(block, {{0, reg_rax, 8, 1, none, 0}, {4, reg_al, 1, 1, none, 0}});
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
    CHECK(share_of(wide->invariance) == doctest::Approx(2.0 / 3));
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
    const auto valued = program.with_values(plain, {{0, reg_rax, 8, 1, none, 0}});
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
    const auto valued = program.with_values(plain, {{0, reg_rax, 8, 1, none, 0}});
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
    const auto valued = program.with_values(block, {{0, reg_ymm0, 32, 4, none, 0}});
    run.sample(program, {valued, 4, 3, 2, 1});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].operand == "ymm0");
    REQUIRE(p.values[0].top[0].value.size() == 32);
    Words words(4);
    std::memcpy(words.data(), p.values[0].top[0].value.data(), 32);
    CHECK(words == Words{1, 2, 3, 4});
}

TEST_CASE("values have the type of their slot, in the form that fits the width") {
    constexpr auto floating = ValueType::Kind::floating;
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_ymm0, 8, 1, none, 0, {floating, 8}},
                                                    {4, reg_eax, 4, 1, none, 0, {floating, 8}},
                                                    {8, reg_ymm0, 32, 4, none, 0, {floating, 4}}});
    run.sample(program, {valued, 1, 2, 6, 5, 4, 3});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 3);
    CHECK(find_site(p, 0x1000)->type == ValueType{floating, 8});
    CHECK(find_site(p, 0x1000)->width_bytes == 8);
    CHECK(find_site(p, 0x1004)->type == ValueType{ValueType::Kind::integer, 4});
    CHECK(find_site(p, 0x1008)->type == ValueType{floating, 4});
}

TEST_CASE("a scalar's value is its lane, whatever is above it in the word") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued =
        program.with_values(block, {{0, reg_ymm0, 4, 1, none, 0, {ValueType::Kind::floating, 4}}});
    run.sample(program, {valued, 0x1'3f800000, valued, 0x2'3f800000});
    const Profile p = run.result();
    REQUIRE(find_site(p, 0x1000)->top.size() == 1);
    CHECK(value_of(find_site(p, 0x1000)->top[0]) == 0x3f800000);
}

TEST_CASE("vector values that differ in one word only are different") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_ymm0, 32, 4, none, 0}});
    run.sample(program, {valued, 4, 3, 2, 1, valued, 5, 3, 2, 1, valued, 4, 3, 2, 0});
    CHECK(run.result().values[0].top.size() == 3);
}

// A function at 0x2000, called at 0x1000 and 0x1100, in a loop.
struct CalledTwice {
    TestProgram program;
    BlockId first = program.add(0x1000, Terminator::call, 0x2000);
    BlockId behind_first = program.add(0x1010, Terminator::jump, 0x1100);
    BlockId second = program.add(0x1100, Terminator::call, 0x2000);
    BlockId behind_second = program.add(0x1110, Terminator::jump, 0x1000);
    BlockId function = program.add(0x2000, Terminator::ret);
    BlockId valued = program.with_values(function, {{0, reg_rax, 8, 1, none, 0}});
    BlockId constant = program.with_values(function, {{0, reg_eax, 4, 0, none, 5}});
    BlockId wide = program.with_values(function, {{0, reg_ymm0, 32, 4, none, 0}});
    BlockId joined = program.sequence({first, valued, behind_first, second, valued});

    static std::map<std::uint64_t, const CallerValues*> by_caller(const ValueProfile& value) {
        std::map<std::uint64_t, const CallerValues*> found;
        for (const CallerValues& values : value.by_caller) {
            REQUIRE(values.callers.size() == 1);
            found[values.callers[0].address] = &values;
        }
        return found;
    }
};

TEST_CASE("values are kept by the call that led to them") {
    TestRun run;
    CalledTwice called;
    const auto& [program, first, behind_first, second, behind_second, function, valued, constant,
                 wide, joined] = called;
    Words trace;
    for (std::uint64_t i = 0; i < 300; ++i)
        trace.insert(trace.end(),
                     {first, valued, 7, behind_first, second, valued, i, behind_second});
    run.sample(program, trace);
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].count == 600);
    const auto values = CalledTwice::by_caller(p.values[0]);
    REQUIRE(values.size() == 2);
    // Callers are return addresses less one, as in stacks.
    const CallerValues& of_first = *values.at(0x100f);
    CHECK(of_first.count == 300);
    CHECK(share_of(of_first.invariance) == 1);
    REQUIRE(of_first.top.size() == 1);
    CHECK(value_of(of_first.top[0]) == 7);
    const CallerValues& of_second = *values.at(0x110f);
    CHECK(of_second.count == 300);
    CHECK(share_of(of_second.invariance) < 0.5);
    CHECK(of_second.top.size() == 4);
    CHECK(*of_second.absent_error >= static_cast<double>(of_second.top.back().count));
}

TEST_CASE("constants and vectors are kept by caller as well, and within sequences of blocks") {
    TestRun run;
    CalledTwice called;
    const auto& [program, first, behind_first, second, behind_second, function, valued, constant,
                 wide, joined] = called;
    Words trace;
    for (int i = 0; i < 10; ++i) {
        trace.insert(trace.end(), {joined, 1, 2, behind_second});
        trace.insert(trace.end(),
                     {first, constant, behind_first, second, wide, 4, 3, 2, 1, behind_second});
    }
    run.sample(program, trace);
    const Profile p = run.result();
    REQUIRE(p.values.size() == 3);
    for (const ValueProfile& value : p.values) {
        CAPTURE(value.operand);
        const auto values = CalledTwice::by_caller(value);
        if (value.operand == "rax") {
            REQUIRE(values.size() == 2);
            CHECK(value_of(values.at(0x100f)->top[0]) == 1);
            CHECK(value_of(values.at(0x110f)->top[0]) == 2);
            CHECK(values.at(0x100f)->count == 10);
            CHECK(share_of(values.at(0x110f)->invariance) == 1);
        } else {
            REQUIRE(values.size() == 1);
            CHECK(values.begin()->first == (value.operand == "eax" ? 0x100f : 0x110f));
            CHECK(values.begin()->second->count == 10);
            CHECK(share_of(values.begin()->second->invariance) == 1);
        }
    }
}

TEST_CASE("callers come from the stack that a sample begins with, as many as are asked for") {
    for (const std::size_t frames : {0u, 1u, 2u, 8u}) {
        CAPTURE(frames);
        TestRun run({.value_callers = frames});
        CalledTwice called;
        run.sample(called.program, {called.valued, 7, called.behind_first},
                   {0x2000, 0x1010, 0x5010, 0x6010});
        const Profile p = run.result();
        REQUIRE(p.values.size() == 1);
        if (frames == 0) {
            CHECK(p.values[0].by_caller.empty());
            continue;
        }
        REQUIRE(p.values[0].by_caller.size() == 1);
        std::vector<CodeLocation> callers{at(0x100f), at(0x500f), at(0x600f)};
        callers.resize(std::min<std::size_t>(frames, 3));
        CHECK(p.values[0].by_caller[0].callers == callers);
    }
}

TEST_CASE("a value whose caller is not known has none") {
    TestRun run;
    CalledTwice called;
    run.sample(called.program, {called.valued, 7, called.behind_first});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].count == 1);
    CHECK(p.values[0].by_caller.empty());
}

TEST_CASE("an instruction in two blocks has one value profile") {
    TestRun run;
    TestProgram program;
    const auto outer = program.add(0x1000, Terminator::none);
    const auto inner = program.add(0x1004, Terminator::none);
    const auto a = program.with_values(outer, {{8, reg_eax, 4, 1, none, 0}});
    const auto b = program.with_values(inner, {{4, reg_eax, 4, 1, none, 0}});
    run.sample(program, {a, 1, b, 1});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].count == 2);
}

TEST_CASE("a trace with values may be cut anywhere, also inside a record") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued =
        program.with_values(plain, {{0, reg_ymm0, 32, 4, none, 0}, {4, reg_rax, 8, 1, none, 0}});
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
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, none, 0}});
    CHECK(run.sample(program, {valued, 1, valued, 2}).instructions == 4);
    CHECK(run.result().values.empty());
}

TEST_CASE("a value that is known from another one takes no words") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, none, 0},
                                                    {2, reg_rax, 8, 0, 0, 16},
                                                    {4, reg_eax, 4, 0, 0, -1},
                                                    {6, reg_al, 1, 1, none, 0},
                                                    {8, reg_rax, 8, 0, 3, 1},
                                                    {10, reg_rax, 8, 0, none, -2},
                                                    {12, reg_al, 1, 0, none, -2},
                                                    {14, reg_ymm0, 32, 0, none, -1}});
    run.sample(program, {valued, 0x100000000, 0xffffffffffffffff, valued, 0x100000000, 0x5ff});
    const Profile p = run.result();
    REQUIRE(p.values.size() == 8);
    const auto only_value = [&](std::uint64_t address) {
        const ValueProfile* site = find_site(p, address);
        REQUIRE(site);
        CHECK(site->count == 2);
        REQUIRE(site->top.size() == 1);
        CHECK(site->top[0].count == 2);
        return value_of(site->top[0]);
    };
    CHECK(only_value(0x1000) == 0x100000000);
    CHECK(only_value(0x1002) == 0x100000010);
    CHECK(only_value(0x1004) == 0xffffffff);
    CHECK(only_value(0x1006) == 0xff);
    CHECK(only_value(0x1008) == 0x100);  // the source is cut first
    CHECK(only_value(0x100a) == ~std::uint64_t{1});
    CHECK(only_value(0x100c) == 0xfe);
    CHECK(only_value(0x100e) == ~std::uint64_t{0});
    CHECK(find_site(p, 0x100e)->top[0].value == std::vector(32, std::byte{0xff}));
}

TEST_CASE("records of constants only have values, but no words") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto constant = program.with_values(plain, {{0, reg_rax, 8, 0, none, 5}});
    TestRun run;
    CHECK(
        run.sample(program, {constant, plain, constant, constant, plain, constant}).instructions ==
        6 * 3);
    const Profile p = run.result();
    REQUIRE(p.values.size() == 1);
    CHECK(p.values[0].count == 4);
    CHECK(value_of(p.values[0].top.at(0)) == 5);
    CHECK(run.profile.check().has_value());
}

// The values in a profile, as far as they must not depend on where traces were cut.
using Counts = std::map<std::pair<std::uint64_t, std::string>, std::map<std::uint64_t, double>>;
Counts counts_of(const Profile& p) {
    Counts counts;
    for (const ValueProfile& site : p.values)
        for (const TopValue& top : site.top)
            counts[{site.at.address, site.operand}][value_of(top)] = static_cast<double>(top.count);
    return counts;
}

TEST_CASE("a sequence has the values of its parts, in order, also of one part twice") {
    TestProgram program;
    const auto first = program.add(0x1000, Terminator::conditional, 0x1010);
    const auto second = program.add(0x1010, Terminator::jump, 0x1000);
    const auto a = program.with_values(
        first,
        {{0, reg_rax, 8, 1, none, 0}, {4, reg_rax, 8, 0, 0, 3}, {8, reg_ymm0, 32, 4, none, 0}});
    const auto b =
        program.with_values(second, {{0, reg_al, 1, 1, none, 0}, {4, reg_eax, 4, 1, none, 0}});
    const auto c = program.with_values(first, {{12, reg_eax, 4, 0, none, 9}});
    const auto sequence = program.sequence({a, second, b, c, a, b});
    Words joined, single;
    for (std::uint64_t i = 0; i < 700; ++i) {
        const Words of_a = {i % 3, 4, 3, 2, i % 5}, of_b = {i % 7, i % 2};
        const Words again = {i % 4, 4, 3, 2, i % 6}, again_b = {i % 8, 1};
        const auto append = [](Words& to, std::uint64_t id, const Words& values) {
            if (id) to.push_back(id);
            to.insert(to.end(), values.begin(), values.end());
        };
        append(joined, sequence, of_a);
        for (const auto& more : {of_b, again, again_b}) append(joined, 0, more);
        append(single, a, of_a);
        append(single, second, {});
        append(single, b, of_b);
        append(single, c, {});
        append(single, a, again);
        append(single, b, again_b);
    }
    TestRun expected, got;
    const auto instructions = expected.sample(program, single).instructions;
    CHECK(got.sample(program, joined).instructions == instructions);
    CHECK(counts_of(expected.result()).size() == 6);
    CHECK(counts_of(got.result()) == counts_of(expected.result()));
    CHECK(got.result().paths == expected.result().paths);
}

TEST_CASE("long traces lose no value, wherever they are cut") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1010);
    const auto other = program.add(0x1010, Terminator::jump, 0x1000);
    const auto a =
        program.with_values(plain, {{0, reg_rax, 8, 1, none, 0}, {4, reg_eax, 4, 1, none, 0}});
    const auto b =
        program.with_values(other, {{0, reg_ymm0, 32, 4, none, 0}, {8, reg_al, 1, 0, none, 1}});
    Words trace;
    Counts expected;
    for (std::uint64_t i = 0; trace.size() < 300'000; ++i) {
        trace.insert(trace.end(), {a, i % 31, i % 2, plain, b, 9, 8, 7, i % 5});
        ++expected[{0x1000, "rax"}][i % 31];
        ++expected[{0x1004, "eax"}][i % 2];
        ++expected[{0x1010, "ymm0"}][i % 5];
        ++expected[{0x1018, "al"}][1];
    }
    for (std::size_t longest : {std::size_t{1000}, std::size_t{32768}, trace.size()}) {
        CAPTURE(longest);
        Random lengths(longest);
        TestRun run;
        run.begin();
        for (auto at = trace.begin(); at != trace.end();) {
            const auto left = static_cast<std::size_t>(trace.end() - at);
            const auto end =
                at + static_cast<std::ptrdiff_t>(std::min(left, 1 + lengths.next() % longest));
            run.add(program, Words(at, end));
            at = end;
        }
        run.collector.end();
        CHECK(counts_of(run.result()) == expected);
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("values may be asked for in the middle of a sample, also inside a record") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, none, 0}});
    run.begin();
    run.add(program, {valued, 1, valued});
    CHECK(run.result().values.at(0).count == 1);
    run.add(program, {2, valued, 3});
    CHECK(run.result().values.at(0).count == 3);
    run.collector.end();
    CHECK(run.result().values.at(0).count == 3);
}

TEST_CASE("values count while instructions are skipped") {
    TestRun run;
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, none, 0}});
    run.begin({}, 5);
    CHECK(run.add(program, {valued, 1, valued, 2, valued, 3}).instructions == 3);
    run.collector.end();
    CHECK(run.result().values.at(0).count == 3);
}

TEST_CASE("a site's values depend on its own stream only") {
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::jump, 0x1000);
    const auto a = program.with_values(block, {{0, reg_rax, 8, 1, none, 0}});
    const auto b = program.with_values(block, {{4, reg_rax, 8, 1, none, 0}});
    TestRun alone, together;
    Words own, mixed;
    Random random(3);
    for (int i = 0; i < 5000; ++i) {
        const auto value = random.next() % 1000;
        own.insert(own.end(), {a, value});
        mixed.insert(mixed.end(), {a, value, b, random.next()});
    }
    alone.sample(program, own);
    together.sample(program, mixed);
    const auto expected = alone.result().values.at(0);
    const Profile p = together.result();
    const ValueProfile* got = find_site(p, 0x1000);
    REQUIRE(got);
    CHECK(expected.top.at(0).error > 0);
    REQUIRE(got->top.size() == expected.top.size());
    for (std::size_t i = 0; i < got->top.size(); ++i) {
        CHECK(got->top[i].value == expected.top[i].value);
        CHECK(got->top[i].count == expected.top[i].count);
    }
}

TEST_CASE("TNV tables are filled on request, beside the counting samples") {
    TestProgram program;
    const auto block = program.add(0x1000, Terminator::none);
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, none, 0}});
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
    const auto valued = program.with_values(block, {{0, reg_rax, 8, 1, none, 0}});
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
    CHECK(share_of(p.values[0].invariance) == doctest::Approx(0.5));
}

}  // namespace
}  // namespace shadowprof::value_test
