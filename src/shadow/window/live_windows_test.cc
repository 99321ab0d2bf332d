#include "shadow/window/live_windows.h"

#include <doctest/doctest.h>

namespace shadowprof::live_windows_test {
namespace {

using namespace std::chrono_literals;

// The report of a sample with 200,000 instructions.
SampleReport report_of(WindowEnd end, std::uint64_t in_window = 0, double passed_seconds = 0) {
    SampleReport report{.window = end};
    report.tried_window = true;
    report.instructions = 200'000;
    report.window_instructions = in_window;
    if (end == WindowEnd::met)
        report.of_window = WindowTime{.seconds = {}, .passed_seconds = passed_seconds};
    return report;
}

// Returns how many of `samples` samples want a window.
int wanted(LiveWindows& windows, int samples, bool wants_speed) {
    int wanted = 0;
    for (int i = 0; i < samples; ++i) wanted += windows.wants_one(wants_speed);
    return wanted;
}

}  // namespace

TEST_CASE("the first live samples have windows, and those of unknown code, and some others") {
    LiveWindows windows;
    CHECK(wanted(windows, 8, false) == 8);
    CHECK(wanted(windows, 80, false) == 10);
    CHECK(wanted(windows, 80, true) == 80);
}

TEST_CASE("few live samples have windows where none is met") {
    LiveWindows windows;
    for (int i = 0; i < 3; ++i) windows.observe(report_of(WindowEnd::before));
    CHECK(wanted(windows, 4, true) == 4);
    windows.observe(report_of(WindowEnd::missed));
    CHECK(wanted(windows, 84, true) == 10);
    windows.observe(report_of(WindowEnd::met, 1000, 1e-4));
    CHECK(wanted(windows, 80, true) == 80);
    // None of these windows was met.
    for (int i = 0; i < 4; ++i) windows.observe(report_of(WindowEnd::none));
    CHECK(wanted(windows, 80, true) == 10);
}

TEST_CASE("windows become as long as what was emulated allows") {
    LiveWindows windows;
    const auto first = windows.length();
    windows.observe(report_of(WindowEnd::none));
    CHECK(windows.length() == first);
    SampleReport empty = report_of(WindowEnd::none);
    empty.window_was_empty = true;
    windows.observe(empty);
    CHECK(windows.length() > first);
    windows.observe(report_of(WindowEnd::met, 20'000, 1e-4));
    CHECK(windows.length() > first);
    for (int i = 0; i < 20; ++i) windows.observe(report_of(WindowEnd::before));
    const auto shortest = windows.length();
    CHECK(shortest > 0us);
    CHECK(shortest < first);
    for (int i = 0; i < 50; ++i) windows.observe(report_of(WindowEnd::met, 1, 1e-4));
    CHECK(windows.length() > first);
    CHECK(windows.length() < 1ms);
    const auto longest = windows.length();
    windows.observe(report_of(WindowEnd::met, 200'000, 1e-4));
    CHECK(windows.length() < longest);
}

TEST_CASE("what stops take is the least that windows had beside their instructions") {
    LiveWindows windows;
    CHECK(windows.stop_seconds() > 0.1);
    windows.observe(report_of(WindowEnd::met, 100'000, 60e-6));
    CHECK(windows.stop_seconds() == doctest::Approx(50e-6));
    windows.observe(report_of(WindowEnd::met, 10'000, 23e-6));
    CHECK(windows.stop_seconds() == doctest::Approx(22e-6));
    windows.observe(report_of(WindowEnd::met, 0, 90e-6));
    windows.observe(report_of(WindowEnd::before));
    CHECK(windows.stop_seconds() == doctest::Approx(22e-6));
}

}  // namespace shadowprof::live_windows_test
