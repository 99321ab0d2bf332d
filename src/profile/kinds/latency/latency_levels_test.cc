#include "profile/kinds/latency/latency_levels.h"

#include <doctest/doctest.h>

#include "profile/kinds/latency/load_table.h"
#include "profile/merge/merge.h"

namespace shadowprof::latency_levels_test {
namespace {

std::vector<std::string> names(const std::vector<LatencyLevel>& levels) {
    std::vector<std::string> names;
    for (const auto& level : levels) names.push_back(level.name);
    return names;
}

const std::vector<LatencyLevel> three = {
    {"L1/L2", 0, 78, 1}, {"L3", 92, 130, 1}, {"memory", 280, 400, 1}};
const LatencyHost host{.levels = three, .hit_cycles = 70};

}  // namespace

TEST_CASE("levels that lie apart are parted in the middle between them") {
    const auto levels = find_levels(
        {{"L1", {{52, 90}, {78, 10}}}, {"L3", {{104, 50}, {130, 50}}}, {"memory", {{390, 100}}}});
    REQUIRE(names(levels) == std::vector<std::string>{"L1", "L3", "memory"});
    CHECK(levels[0].from_cycles == 0);
    CHECK(levels[0].median_cycles == 52);
    CHECK(levels[1].from_cycles == 91);
    CHECK(levels[2].from_cycles == 260);
    for (const auto& level : levels) CHECK(level.accuracy == 1);
}

TEST_CASE("levels that the counter cannot tell apart become one of both names") {
    const auto levels = find_levels({{"L1", {{78, 95}, {104, 5}}},
                                     {"L2", {{78, 80}, {104, 20}}},
                                     {"L3", {{130, 100}}},
                                     {"memory", {{390, 100}}}});
    CHECK(names(levels) == std::vector<std::string>{"L1/L2", "L3", "memory"});
    CHECK(levels[0].median_cycles == 78);
}

TEST_CASE("what is hardest to part is joined first, and only that") {
    // L2 and L3 overlap by half, L1 and L2 by a twentieth.
    const auto levels = find_levels(
        {{"L1", {{50, 95}, {70, 5}}}, {"L2", {{70, 50}, {90, 50}}}, {"L3", {{90, 60}, {110, 40}}}});
    CHECK(names(levels) == std::vector<std::string>{"L1", "L2/L3"});
}

TEST_CASE("a few strays move no threshold, and show in the share that is right") {
    const auto levels =
        find_levels({{"L1", {{50, 97}, {500, 3}}}, {"memory", {{40, 2}, {400, 98}}}});
    REQUIRE(levels.size() == 2);
    CHECK(levels[1].from_cycles == 225);
    CHECK(levels[0].accuracy == doctest::Approx(0.97));
    CHECK(levels[1].accuracy == doctest::Approx(0.98));
}

TEST_CASE("strays between two levels do not draw the threshold to one of them") {
    const auto parted = separate({{100, 1000}}, {{150, 4}, {300, 996}});
    CHECK(parted.from_cycles == 200);
    CHECK(parted.fast_wrong == 0);
    CHECK(parted.slow_wrong == doctest::Approx(0.004));
    // With more of them, they are loads like others.
    CHECK(separate({{100, 1000}}, {{150, 40}, {300, 960}}).from_cycles == 125);
    CHECK(separate({}, {{300, 1}}).from_cycles == 0);
}

TEST_CASE("samples that are slower at a faster level do not become two levels") {
    CHECK(find_levels({{"L1", {{100, 10}}}, {"L2", {{50, 10}}}}).size() == 1);
    CHECK(find_levels({{"L1", {}}, {"L2", {{50, 10}}}, {"L3", {}}}).size() == 1);
    CHECK(find_levels({}).empty());
}

TEST_CASE("a load is of the last level that it takes long enough for") {
    CHECK(level_of(three, 0) == 0);
    CHECK(level_of(three, 91) == 0);
    CHECK(level_of(three, 92) == 1);
    CHECK(level_of(three, 279) == 1);
    CHECK(level_of(three, 1'000'000) == 2);
}

TEST_CASE("loads of reused lines hit, and lose nothing") {
    LoadTable table;
    const CodeLocation at{0, 0x10}, other{0, 0x20};
    table.add_timed(at, {0x1000}, 8, 78);
    table.add_timed(at, {0x103c}, 8, 400);
    table.add_timed(at, {0x1ffc}, 8, 130);
    table.add_reused(at, 7, 2, 1);
    table.add_timed(other, {0x1000}, 64, 79);
    const auto loads = table.loads(host);
    REQUIRE(loads.size() == 2);
    const auto& load = loads[0];
    CHECK(load.at == at);
    CHECK(load.count() == 10);
    CHECK(load.levels ==
          std::map<std::string, std::uint64_t>{{"L1/L2", 8}, {"L3", 1}, {"memory", 1}});
    CHECK(load.lost_cycles == (400 - 70) + (130 - 70));
    CHECK(load.line_crossings == 4);
    CHECK(load.page_crossings == 2);
    CHECK(load.median_cycles() == 130);
    CHECK(loads[1].lost_cycles == 0);  // within the first level
    CHECK(table.loads({})[0].levels.empty());
}

TEST_CASE("bursts add up to how addresses follow each other") {
    LoadTable table;
    const CodeLocation at{0, 0x10}, never_timed{0, 0x20};
    table.add_timed(at, {0x1000}, 8, 78);
    table.add_moves(at, 10, 50, 2, {64, 30});
    table.add_moves(at, 0, 50, 48, {-8, 5});
    table.add_moves(never_timed, 0, 1, 0, {8, 1});
    const auto loads = table.loads(host);
    REQUIRE(loads.size() == 1);
    CHECK(loads[0].moves == AddressMoves{10, 35, 35, {{64, 30}}});
}

TEST_CASE("latencies of several runs add up, and those of other machines say so") {
    LoadTable table;
    table.add_timed({0, 0x10}, {0x1000}, 8, 400);
    Profile one;
    one.modules = {{"/bin/a", "aa", 1}};
    one.latency = table.loads(host);
    one.latency_host = host;
    Profile sum;
    merge_into(sum, one);
    merge_into(sum, one);
    REQUIRE(sum.latency.size() == 1);
    CHECK(sum.latency[0].timed == 2);
    CHECK(sum.latency[0].histogram == CycleHistogram{{400, 2}});
    CHECK(sum.latency[0].levels.at("memory") == 2);
    CHECK(sum.latency[0].lost_cycles == 2 * 330);
    CHECK(sum.latency_host == one.latency_host);
    CHECK(sum.notes.empty());
    one.latency_host->step_cycles = 26;
    merge_into(sum, one);
    CHECK_FALSE(sum.latency_host);
    CHECK(sum.notes.size() == 1);
}

}  // namespace shadowprof::latency_levels_test
