#include "ptrace/process/wake_rate.h"

#include <doctest/doctest.h>

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

const WakeRate::Clock::time_point start{1h};

TEST_CASE("a thread is not known to wake up seldom before it was watched for a while") {
    WakeRate rate;
    CHECK(!rate.is_seldom());
    rate.observe(start, 7);
    rate.observe(start + 99ms, 7);
    CHECK(!rate.is_seldom());
    rate.observe(start + 100ms, 7);
    CHECK(rate.is_seldom());
}

TEST_CASE("what counts is how often it woke up of late") {
    WakeRate rate;
    rate.observe(start, 1000);
    rate.observe(start + 1s, 1025);
    CHECK(rate.is_seldom());
    rate.observe(start + 2s, 1051);
    CHECK(!rate.is_seldom());
    // Too short a time shows nothing.
    rate.observe(start + 2050ms, 1051);
    CHECK(!rate.is_seldom());
    rate.observe(start + 3s, 1053);
    CHECK(rate.is_seldom());
}

TEST_CASE("our own stops are no wake-ups of its own") {
    WakeRate rate;
    rate.observe(start, 0);
    for (int i = 0; i < 50; ++i) rate.note_stop(true);
    rate.observe(start + 500ms, 105);
    CHECK(rate.is_seldom());
    rate.observe(start + 1s, 130);
    CHECK(!rate.is_seldom());
}

TEST_CASE("a stop of a thread that ran hides no wake-up but that behind it") {
    WakeRate rate;
    rate.observe(start, 0);
    for (int i = 0; i < 50; ++i) rate.note_stop(false);
    rate.observe(start + 1s, 76);
    CHECK(!rate.is_seldom());
}

TEST_CASE("what was seen long ago tells nothing") {
    WakeRate rate;
    rate.observe(start, 0);
    rate.observe(start + 1s, 0);
    CHECK(rate.is_seldom());
    rate.observe(start + 7s, 20);
    CHECK(!rate.is_seldom());
    rate.observe(start + 8s, 21);
    CHECK(rate.is_seldom());
}

}  // namespace
}  // namespace shadowprof
