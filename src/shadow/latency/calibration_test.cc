#include "shadow/latency/calibration.h"

#include <doctest/doctest.h>

#include <initializer_list>

#include "profile/kinds/latency/latency_levels.h"

namespace shadowprof::calibration_test {
namespace {

constexpr CacheSizes three_levels{.l1 = 48 << 10, .l2 = 2 << 20, .l3 = 105 << 20};
constexpr CacheSizes without_l3{.l1 = 32 << 10, .l2 = 1 << 20, .l3 = 0};

struct Chase {
    const char* level;
    std::uint64_t cycles;
};

// A calibration from chases whose loads all take the given time.
HostCalibration calibration_of(std::initializer_list<Chase> chases, std::uint64_t step = 2) {
    HostCalibration calibration;
    calibration.host.step_cycles = step;
    std::vector<LevelSample> samples;
    for (const auto& chase : chases) {
        samples.push_back({chase.level, {{chase.cycles, 1000}}});
        for (const bool huge : {false, true})
            calibration.rows.push_back({chase.level, 4096, huge, ChaseKind::plain, chase.cycles,
                                        chase.cycles, chase.cycles});
    }
    calibration.host.levels = find_levels(std::move(samples));
    return calibration;
}

}  // namespace

TEST_CASE("levels that the caches promise must be told apart") {
    CHECK(check_levels(calibration_of({{"L1", 54}, {"L2", 62}, {"L3", 124}, {"memory", 294}}),
                       three_levels));
    // A stop evicts lines of L1.
    CHECK(check_levels(calibration_of({{"L1", 62}, {"L2", 62}, {"L3", 124}, {"memory", 294}}),
                       three_levels));
    const auto no_memory = check_levels(
        calibration_of({{"L1", 54}, {"L2", 62}, {"L3", 300}, {"memory", 300}}), three_levels);
    REQUIRE_FALSE(no_memory);
    CHECK(no_memory.error().message.find("loads of L3 and of memory could not be told apart (300 "
                                         "and 300 cycles)") != std::string::npos);
    CHECK_FALSE(check_levels(
        calibration_of({{"L1", 300}, {"L2", 300}, {"L3", 300}, {"memory", 300}}), three_levels));
}

TEST_CASE("L2 and L3 may be one level only where the counter cannot show how they differ") {
    // Loads of L3 were measured 42 cycles slower, but some loads of both levels took equally long.
    auto mixed = calibration_of({{"L1", 60}, {"L2", 82}, {"L3", 82}, {"memory", 400}});
    for (auto& row : mixed.rows)
        if (row.level == "L3") row.p50 = 124;
    CHECK_FALSE(check_levels(mixed, three_levels));
    mixed.host.step_cycles = 21;
    CHECK(check_levels(mixed, three_levels));
}

TEST_CASE("what was not measured is not told apart") {
    CHECK_FALSE(check_levels(calibration_of({{"memory", 294}}), {}));
    CHECK_FALSE(check_levels(calibration_of({{"L1", 54}, {"L2", 62}, {"L3", 124}}), three_levels));
    CHECK_FALSE(
        check_levels(calibration_of({{"L1", 54}, {"L2", 62}, {"memory", 294}}), three_levels));
}

TEST_CASE("where there is no L3, L2 and memory must be told apart") {
    CHECK(check_levels(calibration_of({{"L1", 54}, {"L2", 62}, {"memory", 294}}), without_l3));
    CHECK_FALSE(
        check_levels(calibration_of({{"L1", 54}, {"L2", 294}, {"memory", 294}}), without_l3));
    CHECK_FALSE(check_levels(calibration_of({{"L1", 294}, {"memory", 294}}), {.l1 = 32 << 10}));
}

}  // namespace shadowprof::calibration_test
