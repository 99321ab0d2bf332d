#include "shadow/budget/window_length.h"

#include <doctest/doctest.h>

namespace shadowprof::window_length_test {
namespace {

using namespace std::chrono_literals;

constexpr double a_quarter = 0.25;  // share of a processor
constexpr WindowLength::Limits limits = {300us, 3ms};

// Returns the length after this many observations, a tenth of a second apart, each of which adds
// these times.
std::chrono::nanoseconds after(WindowLength& length, int observations, double ours_seconds,
                               double waited_seconds) {
    WindowLength::Clock::time_point now;
    std::uint64_t ours_ns = 0;
    for (int i = 0; i < observations; ++i) {
        length.observe(now, ours_ns, waited_seconds);
        now += 100ms;
        ours_ns += static_cast<std::uint64_t>(ours_seconds * 1e9);
    }
    return length.value();
}

}  // namespace

TEST_CASE("windows are long where processors idle") {
    WindowLength length(limits, a_quarter);
    CHECK(length.value() == limits.shortest);
    CHECK(after(length, 30, 0.005, 0.0001) == limits.longest);
}

TEST_CASE("windows are short in the first second") {
    WindowLength length(limits, a_quarter);
    CHECK(after(length, 10, 0.005, 0.0001) == limits.shortest);
}

TEST_CASE("windows are short where the program waits for our processors") {
    WindowLength length(limits, a_quarter);
    CHECK(after(length, 20, 0.005, 0.004) == limits.shortest);
}

TEST_CASE("windows are short where emulation takes more than a quarter of a processor") {
    WindowLength length(limits, a_quarter);
    CHECK(after(length, 40, 0.05, 0) == limits.shortest);
}

TEST_CASE("windows of dear samples are long, but where processors are needed") {
    WindowLength idle(limits, a_quarter);
    CHECK(idle.worth(0.008) == limits.shortest);
    idle.observe({}, 0, 0);
    CHECK(idle.worth(0.0002) == limits.shortest);
    CHECK(idle.worth(0.002) == 2ms);
    CHECK(idle.worth(1) == 6ms);
    CHECK(after(idle, 30, 0.005, 0.0001) == limits.longest);
    CHECK(idle.worth(0.002) == limits.longest);
    WindowLength busy(limits, a_quarter);
    after(busy, 20, 0.005, 0.004);
    CHECK(busy.worth(0.02) == limits.shortest);
    CHECK(WindowLength({1ms, 1ms}, a_quarter).worth(0.02) == 1ms);
}

TEST_CASE("processor time that went with a worker is none") {
    WindowLength length(limits, a_quarter);
    const WindowLength::Clock::time_point begin;
    length.observe(begin, 5'000'000'000, 0);
    length.observe(begin + 100ms, 1'000'000, 0);
    CHECK(after(length, 20, 0.005, 0) == limits.longest);
}

TEST_CASE("a length that was asked for stays") {
    WindowLength length({1ms, 1ms}, a_quarter);
    CHECK(length.value() == 1ms);
    CHECK(after(length, 20, 0.005, 0) == 1ms);
    CHECK(after(length, 20, 0.05, 0.05) == 1ms);
}

}  // namespace shadowprof::window_length_test
