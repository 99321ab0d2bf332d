#include "cli/commands/host_report.h"

#include <doctest/doctest.h>

namespace shadowprof::host_report_test {
namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

HostCalibration some_calibration() {
    HostCalibration c;
    c.host.levels = {{"L1/L2", 0, 62, 0.99}, {"L3", 83, 124, 0.96}, {"memory", 198, 292, 1}};
    c.host.step_cycles = 2;
    c.host.load_us = 0.55;
    c.host.hit_cycles = 54;
    c.host.evicted_l1 = 0.281;
    c.host.page_walk_cycles = 50;
    c.rows = {{"L1", 16 << 10, false, ChaseKind::repeated, 52, 54, 54},
              {"L2", 1 << 20, true, ChaseKind::plain, 62, 62, 64},
              {"", 64 << 20, false, ChaseKind::one_a_page, 98, 112, 126},
              {"memory", 256 << 20, true, ChaseKind::flushed, 242, 268, 330}};
    return c;
}

}  // namespace

TEST_CASE("the host report has levels, chases and what a stop evicts") {
    const auto text = host_report(some_calibration());
    CHECK(has(text, "L1/L2              0      62   99.0%\n"));
    CHECK(has(text, "16 KiB      4 KiB   L1          52      54      54  each a second time\n"));
    CHECK(has(text, "256 MiB     huge    memory     242     268     330  flushed before"));
    CHECK(has(text, "evicted by a stop: 28.1% of L1, cannot be told here of L2\n"));
    CHECK(has(text, "no TLB: 50 cycles more, which takes a line of L2 for one of L3\n"));
}

TEST_CASE("page walks that change no level are not said to") {
    auto calibration = some_calibration();
    calibration.rows[2].p50 = 70;
    CHECK(has(host_report(calibration), "no TLB: 50 cycles more\n"));
    calibration.host.page_walk_cycles.reset();
    CHECK_FALSE(has(host_report(calibration), "TLB"));
}

}  // namespace shadowprof::host_report_test
