#include "shadow/schedule/sample_schedule.h"

#include <doctest/doctest.h>

#include <vector>

namespace shadowprof::sample_schedule_test {
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Clock = SampleSchedule::Clock;
const Clock::time_point start{seconds(100)};

double since_start(Clock::time_point time) {
    return duration<double>(time - start).count();
}

double weight_seconds(const SampleSchedule& schedule) {
    return schedule.weight() * SampleSchedule::weight_unit.count();
}

}  // namespace

TEST_CASE("samples are as dense as a load of replicas asks for") {
    SampleSchedule schedule({.load = 0.5}, 1);
    schedule.begin(start);
    auto now = start;
    for (int i = 0; i < 1000; ++i) {
        now = schedule.next_start();
        schedule.on_end(milliseconds(4));
        schedule.on_sample(now, {.cost_seconds = 1}, false);
    }
    CHECK(since_start(now) == doctest::Approx(1000 * 0.004 / 0.5).epsilon(0.05));
}

TEST_CASE("samples are as dense as their cost allows") {
    SampleSchedule schedule({.load = 0.25, .cost_share = 0.01}, 2);
    schedule.begin(start);
    auto now = start;
    for (int i = 0; i < 1000; ++i) {
        now = schedule.next_start();
        schedule.on_sample(now, {.cost_seconds = 0.0005, .follows_load = i % 2 != 0}, false);
    }
    CHECK(since_start(now) == doctest::Approx(1000 * 0.05).epsilon(0.05));
}

TEST_CASE("samples that are cheap keep the load") {
    SampleSchedule schedule({.load = 0.25, .cost_share = 0.01}, 3);
    schedule.begin(start);
    auto now = start;
    for (int i = 0; i < 1000; ++i) {
        now = schedule.next_start();
        schedule.on_end(milliseconds(10));
        schedule.on_sample(now, {.cost_seconds = 0.00001}, false);
    }
    CHECK(since_start(now) == doctest::Approx(1000 * 0.04).epsilon(0.05));
}

TEST_CASE("what weights stand for is the whole time, whatever comes between") {
    SampleSchedule schedule({.load = 0.25, .cost_share = 0.01}, 4);
    schedule.begin(start);
    auto now = start;
    double stood_for = 0;
    for (int i = 0; i < 5000; ++i) {
        now = schedule.next_start();
        switch (i % 7) {
            case 2:
                schedule.on_miss(now);
                break;
            case 4:
                schedule.postpone(now, now + milliseconds(i % 50));
                break;
            default:
                const auto stands_for = weight_seconds(schedule);
                schedule.on_sample(now, {.cost_seconds = 0.0001 * (1 + i % 20), .stretch = 0.5},
                                   i % 3 == 0);
                if (i % 7 == 5)
                    schedule.on_loss(stands_for);
                else
                    stood_for += stands_for;
        }
    }
    CHECK(stood_for == doctest::Approx(since_start(now)).epsilon(0.05));
}

TEST_CASE("no moment of the program is seen more often because samples are dearer there") {
    // The program alternates between two phases of a second each. Samples of the second cost ten
    // times as much.
    SampleSchedule schedule({.load = 0.25, .cost_share = 0.01}, 5);
    schedule.begin(start);
    double seen[2] = {};
    int samples[2] = {};
    for (auto now = start; since_start(now) < 4000;) {
        now = schedule.next_start();
        const int phase = static_cast<int>(since_start(now)) % 2;
        seen[phase] += weight_seconds(schedule);
        ++samples[phase];
        schedule.on_sample(now, {.cost_seconds = phase == 0 ? 0.0002 : 0.002}, false);
    }
    CHECK(samples[0] > 4 * samples[1]);
    CHECK(seen[0] / (seen[0] + seen[1]) == doctest::Approx(0.5).epsilon(0.06));
}

TEST_CASE("a period is kept whatever it costs") {
    SampleSchedule schedule({.load = 0.25, .period = seconds(1)}, 6);
    schedule.begin(start);
    auto now = start;
    for (int i = 0; i < 300; ++i) {
        now = schedule.next_start();
        schedule.on_sample(now, {.cost_seconds = 0.5, .follows_load = false}, true);
    }
    CHECK(since_start(now) == doctest::Approx(300).epsilon(0.05));
}

TEST_CASE("a program that cannot be sampled is asked ever less often") {
    SampleSchedule schedule({.load = 0.25}, 7);
    schedule.begin(start);
    auto now = start;
    for (int i = 0; i < 20; ++i) schedule.on_refusal(now = schedule.next_start());
    CHECK(schedule.next_start() - now > milliseconds(400));
    CHECK(schedule.next_start() - now < milliseconds(1600));
}

TEST_CASE("a load and a share that change hold from the next interval on") {
    SampleSchedule schedule({.load = 0.5}, 1);
    schedule.begin(start);
    CHECK(schedule.max_active() == 2);
    auto now = start;
    const auto seconds_of_samples = [&](int samples) {
        const auto before = now;
        for (int i = 0; i < samples; ++i) {
            now = schedule.next_start();
            schedule.on_end(milliseconds(4));
            schedule.on_sample(now, {.cost_seconds = 0.001}, false);
        }
        return duration<double>(now - before).count();
    };
    seconds_of_samples(100);
    schedule.set_load(2);
    CHECK(schedule.max_active() == 3);
    CHECK(seconds_of_samples(1000) == doctest::Approx(1000 * 0.004 / 2).epsilon(0.05));
    schedule.set_cost_share(0.01);
    CHECK(seconds_of_samples(1000) == doctest::Approx(1000 * 0.1).epsilon(0.05));
}

}  // namespace shadowprof::sample_schedule_test
