#include <doctest/doctest.h>

#include "report/export/stub_charges.h"
#include "report/export/test_profile.h"
#include "report/export/writers.h"

namespace shadowprof::callgrind_test {
namespace {

constexpr CodeLocation branch{0, 0x2008}, call{0, 0x1010};

std::string exported(const Profile& profile, const CallgrindDetails& details,
                     RecordedSymbols& symbols) {
    StringSink sink;
    const auto done =
        write_callgrind({.profile = profile, .symbols = symbols, .callgrind = details}, sink);
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
    return sink.text();
}

std::string exported(const Profile& profile, const CallgrindDetails& details) {
    auto symbols = awkward_symbols();
    return exported(profile, details, symbols);
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what models count are events, and stores are apart from loads") {
    Profile profile = awkward_profile();
    profile.cache = {{call, 10, 5, 4, 3, {4, 3, 2, 1}}, {branch, 2, 0, 0, 0, {2, 0, 0, 0}}};
    profile.branches = {{branch, BranchKind::conditional, 6, 5, 2},
                        {call, BranchKind::indirect_call, 9, 9, 1},
                        {{0, 0x2010}, BranchKind::ret, 9, 9, 9}};
    const CallgrindEvents events(profile);
    REQUIRE(events.events().size() == 10);
    CHECK(events.events()[5].name == "DLmw");
    CHECK(events.events()[6].name == "Bc");
    EventCounts sum;
    for (const auto& [at, counts] : events.counts()) add(sum, counts);
    CHECK(sum == EventCounts{6, 6, 2, 3, 2, 1, 6, 2, 9, 1});
    const auto text = exported(profile, {});
    CHECK(has(text, "\nevents: Ir Dr Dw D1mr D1mw DLmr DLmw Bc Bcm Bi Bim\n"));
    CHECK(has(text, "\ntotals: 160 6 6 2 3 2 1 6 2 9 1\n"));
}

TEST_CASE("without a model of caches branches are the first events") {
    Profile profile = awkward_profile();
    profile.branches = {{branch, BranchKind::conditional, 6, 5, 2}};
    CHECK(has(exported(profile, {}), "\nevents: Ir Bc Bcm Bi Bim\nsummary: 160 6 2 0 0\n"));
}

TEST_CASE("lines add their instructions up, and names may be written whole") {
    const auto text =
        exported(awkward_profile(),
                 {.instructions = false, .lines = true, .jumps = false, .compresses_names = false});
    CHECK(has(text, "\npositions: line\n"));
    CHECK(has(text, "\nfn=a;b\n10 15\ncfi=/src/a\"b.c\ncfn=<script>\ncalls=9 20\n12 140\n"));
    CHECK_FALSE(has(text, "(1)"));
    const auto addresses = exported(awkward_profile(), {.lines = false});
    CHECK(has(addresses, "\npositions: instr\n"));
    CHECK(has(addresses, "\n0x1000 15\n"));
}

TEST_CASE("jumps to several places of one line are one where lines count") {
    Profile profile = awkward_profile();
    RecordedSymbols symbols = awkward_symbols();
    for (const std::uint64_t to : {0x2020U, 0x2030U}) {
        symbols.add({0, to}, {.function = "<script>", .function_start = 0x2000, .line = 30}, "");
        profile.edges.push_back({branch, {0, to}, EdgeKind::indirect, 3, {}});
    }
    const auto each = exported(profile, {}, symbols);
    CHECK(has(each, "\njump=3 0x2020 30\n0x2008 21\njump=3 0x2030 30\n0x2008 21\n"));
    CHECK(has(exported(profile, {.instructions = false}, symbols), "\njump=6 30\n21\n"));
}

TEST_CASE("a profile in which nothing counted has no functions") {
    Profile profile = awkward_profile();
    profile.edges.clear();
    profile.stacks.clear();
    auto symbols = awkward_symbols();
    StringSink sink;
    CHECK_FALSE(write_callgrind({.profile = profile, .symbols = symbols}, sink));
    profile.sampling.instructions = 0;
    CHECK(has(exported(profile, {}), "\ntotals: 0\n"));
}

TEST_CASE("those who call through a linkage table pay for it") {
    constexpr CodeLocation first{0, 0x10}, second{0, 0x20}, stub{0, 0x1030}, common{0, 0x1020};
    RecordedSymbols symbols;
    const auto name = [&](CodeLocation at, std::uint64_t start, std::string_view function) {
        symbols.add(at, {.function = function, .function_start = start}, "");
    };
    name(first, 0x10, "f");
    name(second, 0x20, "g");
    for (const std::uint64_t address : {0x1030U, 0x1036U, 0x103bU})
        name({0, address}, 0x1030, "puts@plt");
    Profile profile;
    profile.edges = {{first, stub, EdgeKind::call, 3, {}},
                     {second, stub, EdgeKind::jump, 1, {}},
                     {stub, {0, 0x1036}, EdgeKind::indirect, 1, {}},
                     {{0, 0x103b}, common, EdgeKind::jump, 1, {}}};
    ExecutionCosts costs;
    const auto cost = [&](CodeLocation start, CodeLocation at) -> LineCosts& {
        return costs.functions[start].places[at.address];
    };
    cost(first, first).instructions = 100;
    cost(second, second).instructions = 100;
    cost(stub, stub).instructions = 4;
    cost(stub, {0, 0x1036}).instructions = 1;
    cost(common, common).instructions = 8;
    costs.instructions = 213;
    const StubCharges charges(profile, {{0, 0x1020, 0x1040}}, symbols);
    charges.charge(costs);
    CHECK(cost(first, first).instructions == 100 + 3 + 1 + 6);
    CHECK(cost(second, second).instructions == 100 + 1 + 2);
    CHECK(costs.functions.size() == 2);

    profile.branches = {{stub, BranchKind::indirect_jump, 4, 4, 2}};
    profile.cache = {{common, 8, 0, 0, 0, {}}};
    CallgrindEvents events(profile);
    charges.charge(events);
    REQUIRE(events.counts().size() == 2);
    CHECK(events.counts()[first] == EventCounts{6, 0, 0, 0, 0, 0, 0, 0, 3, 2});
    CHECK(events.counts()[second] == EventCounts{2, 0, 0, 0, 0, 0, 0, 0, 1, 0});
}

}  // namespace shadowprof::callgrind_test
