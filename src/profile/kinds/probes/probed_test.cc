// Events of probes, from a trace into a profile.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "profile/collect/test_traces.h"

namespace shadowprof::probed_test {
namespace {

using namespace testing;

// A function at 0x2000 that is called at 0x1000 and at 0x1100.
struct Probed {
    TestProgram program;
    BlockId first = program.add(0x1000, Terminator::call, 0x2000);
    BlockId behind = program.add(0x1010, Terminator::jump, 0x1100);
    BlockId second = program.add(0x1100, Terminator::call, 0x2000);
    BlockId function = program.add(0x2000, Terminator::ret);
    TestRun run;

    explicit Probed(std::vector<std::string> probes)
        : run({.probes = std::move(ProbeSet::parse(probes)).value()}) {}
    void execute(std::initializer_list<BlockId> blocks) {
        for (const BlockId id : blocks) run.add(program, {id});
    }
    void see(std::uint64_t pc, std::uint64_t value, std::uint32_t probe = 0, bool missed = false) {
        run.collector.add_probed(
            {.pc = {pc}, .value = value, .key = value + 1, .probe = probe, .missed = missed});
    }
    std::vector<ProbeProfile> end() {
        run.collector.end();
        return run.result().probes;
    }
};

TEST_CASE("what a probe saw counts when its instruction is executed next") {
    Probed probed({"true { hotlist(rax) by rbx }"});
    probed.run.begin();
    probed.execute({probed.first});
    probed.see(0x2000, 7);
    probed.execute({probed.function});
    const auto probes = probed.end();
    REQUIRE(probes.size() == 1);
    CHECK(probes[0].name == "probe1");
    CHECK(probes[0].hits == 1);
    REQUIRE(probes[0].entries.size() == 1);
    CHECK(probes[0].entries[0].key == ProbeDatum(std::uint64_t{8}));
    REQUIRE(probes[0].entries[0].top.size() == 1);
    CHECK(probes[0].entries[0].top[0].value == ProbeDatum(std::uint64_t{7}));
}

TEST_CASE("what is seen again before the instruction is executed counts once") {
    Probed probed({"true { sum(rax) }", "true { sum(rax) }"});
    probed.run.begin();
    probed.execute({probed.first});
    for (int i = 0; i < 3; ++i) {
        probed.see(0x2000, 5, 0);
        probed.see(0x2000, 5, 1);
    }
    probed.execute({probed.function});
    for (const auto& probe : probed.end()) {
        CHECK(probe.hits == 1);
        REQUIRE(probe.entries.size() == 1);
        CHECK(probe.entries[0].sum == 5);
    }
}

TEST_CASE("what is not executed does not count") {
    Probed probed({"true { count() }"});
    probed.run.begin();
    probed.execute({probed.first});
    probed.see(0x2000, 1);  // another block follows
    probed.execute({probed.behind});
    probed.see(0x1100, 1);  // another instruction is announced
    probed.see(0x2000, 1);
    probed.execute({probed.function});
    probed.see(0x1010, 1);  // nothing follows
    CHECK(probed.end().at(0).hits == 1);
}

TEST_CASE("places are those of the instruction and of the call that led to it") {
    Probed probed({"true { hotlist(caller) by at }"});
    probed.run.begin();
    for (int i = 0; i < 3; ++i) {
        probed.execute({probed.first});
        probed.see(0x2000, 0);
        probed.execute({probed.function, probed.behind, probed.second});
        probed.see(0x2000, 0);
        probed.execute({probed.function});
    }
    const auto probes = probed.end();
    REQUIRE(probes.at(0).entries.size() == 1);
    const ProbeEntry& entry = probes[0].entries[0];
    CHECK(entry.key == ProbeDatum(at(0x2000)));
    REQUIRE(entry.top.size() == 2);
    CHECK(entry.top[0].value == ProbeDatum(at(0x100f)));
    CHECK(entry.top[1].value == ProbeDatum(at(0x110f)));
    CHECK(entry.top[0].count == 3);
}

TEST_CASE("what could not be known is missed, the caller among it") {
    Probed probed({"true { hotlist(rax) }", "true { count() by caller }"});
    probed.run.begin();
    probed.see(0x2000, 1, 0, true);
    probed.see(0x2000, 1, 1);
    probed.execute({probed.function});
    for (const auto& probe : probed.end()) {
        CHECK(probe.hits == 0);
        CHECK(probe.missed == 1);
    }
}

TEST_CASE("records of probes that there are not are ignored") {
    Probed probed({"true { count() }"});
    probed.run.begin();
    probed.execute({probed.first});
    probed.see(0x2000, 1, 1);
    probed.see(0x2000, 1, ~0u);
    probed.execute({probed.function});
    CHECK(probed.end().at(0).hits == 0);
}

TEST_CASE("each thread's probes are its own") {
    Probed probed({"true { hotlist(rax) }"});
    probed.run.begin();
    probed.execute({probed.first});
    probed.see(0x2000, 7);
    probed.run.collector.begin_thread(1, {});
    const std::array<std::uint64_t, 1> other = {probed.behind};
    probed.run.collector.add(1, other, probed.program.table());
    probed.execute({probed.function});
    const auto probes = probed.end();
    CHECK(probes.at(0).hits == 1);
    CHECK(probes.at(0).entries.at(0).top.at(0).value == ProbeDatum(std::uint64_t{7}));
}

}  // namespace
}  // namespace shadowprof::probed_test
