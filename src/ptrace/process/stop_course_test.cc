#include "ptrace/process/stop_course.h"

#include <doctest/doctest.h>

namespace shadowprof::stop_course_test {
using namespace std::chrono_literals;

namespace {

constexpr StopCourse::Clock::time_point start{1h};
constexpr StopLimits limited{.longest = 2ms, .processor_wait = 20ms, .silence = 200us};

}  // namespace

TEST_CASE("a thread that stops at once stands still from its interruption on") {
    StopCourse course(limited, true, start);
    course.observe(start + 50us);
    course.note_stop(true);
    CHECK(course.began() == start);
    CHECK(!course.found_none_on_processor());
    course.observe(start + 249us);
    CHECK(!course.may_leave_out());
    CHECK(course.sleep_time(1h) == 1us);
    course.observe(start + 250us);
    CHECK(course.may_leave_out());
}

TEST_CASE("a thread that stops soon after all were interrupted had a processor") {
    StopCourse course(limited, true, start), late(limited, true, start);
    for (auto* each : {&course, &late}) each->note_interrupted(start + 5ms);
    course.observe(start + 5ms + 300us);
    course.note_stop(true);
    CHECK(!course.found_none_on_processor());
    CHECK(course.began() == start);
    late.observe(start + 5ms + 301us);
    late.note_stop(true);
    CHECK(late.found_none_on_processor());
    CHECK(late.began() == start + 5ms + 301us);
}

TEST_CASE("nobody is late while one thread after the other stops, or if none would run") {
    StopCourse course(limited, true, start);
    for (int i = 1; i < 10; ++i) {
        course.observe(start + i * 190us);
        CHECK(!course.may_leave_out());
        course.note_stop(i % 2 == 0);
    }
    StopCourse asleep(limited, true, start);
    asleep.observe(start + 1ms);
    asleep.note_stop(false);
    asleep.observe(start + 9ms);
    CHECK(!asleep.may_leave_out());
    CHECK(!asleep.found_none_on_processor());
}

TEST_CASE("what a thread waits for a processor is no time in which it stands still") {
    StopCourse prompt(limited, true, start), slow(limited, false, start);
    for (auto* course : {&prompt, &slow}) {
        course->observe(start + 9ms);
        CHECK(!course->is_over());
        course->observe(start + 10ms);
        course->note_stop(true);
        course->note_stop(true);
    }
    CHECK(!prompt.may_leave_out());
    CHECK(prompt.found_none_on_processor());
    CHECK(prompt.began() == start + 10ms);
    // It may have stopped right after the previous observation.
    CHECK(slow.began() == start + 9ms);
    CHECK(slow.sleep_time(1h) == 200us);
    prompt.observe(start + 12ms - 1ns);
    CHECK(!prompt.is_over());
    prompt.observe(start + 12ms);
    CHECK(prompt.is_over());
}

TEST_CASE("a limited stop waits for no processor for ever, an unlimited one does") {
    StopCourse course(limited, true, start), none({.longest = 0ns}, true, start),
        unlimited({}, true, start);
    CHECK(none.is_over());
    course.observe(start + 22ms - 1ns);
    CHECK(!course.is_over());
    CHECK(course.sleep_time(1h) == 1ns);
    course.observe(start + 22ms);
    CHECK(course.is_over());
    unlimited.observe(start + 1h);
    CHECK(!unlimited.is_over());
    CHECK(unlimited.sleep_time(1h) == 1h);
    // No thread stood still.
    CHECK(course.began() == start + 22ms);
}

}  // namespace shadowprof::stop_course_test
