#include "shadow/budget/budget.h"

#include <doctest/doctest.h>

namespace shadowprof::budget_test {
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const Budget::Clock::time_point start{seconds(1000)};

double wait_seconds(const Budget& budget, Budget::Clock::time_point now, double cost_seconds) {
    return std::chrono::duration<double>(budget.when_within(cost_seconds) - now).count();
}

}  // namespace

TEST_CASE("one percent more time is a little less than a hundredth of it") {
    CHECK(Budget(1).share() == doctest::Approx(0.01 / 1.01));
    CHECK(Budget(100).share() == doctest::Approx(0.5));
}

TEST_CASE("what was spent is earned in time") {
    Budget budget(1);
    budget.begin(start);
    CHECK(wait_seconds(budget, start, 0.01) == doctest::Approx(0.01 * 101));
    budget.pass(start + milliseconds(505), 0.01);
    CHECK(wait_seconds(budget, start + milliseconds(505), 0.01) == doctest::Approx(0.505));
    budget.pass(start + seconds(100), 0.9);
    CHECK(wait_seconds(budget, start + seconds(100), 0.91) <= 0);
}

TEST_CASE("a first sample is paid in advance, once") {
    Budget budget(1);
    budget.begin(start);
    CHECK(wait_seconds(budget, start, 0.001) <= 0);
    budget.pass(start + milliseconds(101), 0.001);
    CHECK(wait_seconds(budget, start + milliseconds(101), 0.002) == doctest::Approx(0.101));
}

TEST_CASE("a program that begins may be slowed by 50 ms in its first second, which it gets back") {
    const auto earned = [](double percent, std::chrono::milliseconds age) {
        Budget budget(percent);
        budget.begin(start);
        budget.allow_more_at_first();
        double spent = 0;
        for (milliseconds at{0}; at < age; at += milliseconds(10)) {
            budget.pass(start + at + milliseconds(10), spent);
            while (wait_seconds(budget, start + at + milliseconds(10), spent + 0.0001) <= 0)
                spent += 0.0001;
        }
        return spent;
    };
    CHECK(earned(1, milliseconds(500)) == doctest::Approx(0.025).epsilon(0.05));
    CHECK(earned(1, seconds(1)) == doctest::Approx(0.05).epsilon(0.05));
    CHECK(earned(1, seconds(3)) == doctest::Approx(0.06).epsilon(0.05));
    CHECK(earned(1, seconds(10)) == doctest::Approx(0.099).epsilon(0.02));
    CHECK(earned(1, seconds(100)) == doctest::Approx(0.99).epsilon(0.02));
    CHECK(earned(0.1, seconds(1)) == doctest::Approx(0.005).epsilon(0.25));
    CHECK(earned(10, seconds(1)) == doctest::Approx(0.091).epsilon(0.05));
}

TEST_CASE("in the first stretch a wait that is longer than that goes on at the later rate") {
    Budget budget(1);
    budget.begin(start);
    budget.allow_more_at_first();
    budget.pass(start + milliseconds(100), 0.03);
    const auto wait = wait_seconds(budget, start + milliseconds(100), 0.06);
    CHECK(wait == doctest::Approx(0.9 + 0.01 / (0.5 * budget.share())).epsilon(0.05));
}

TEST_CASE("questions whether a sample is affordable do not use up what it would cost") {
    struct Counts {
        int observations = 0, samples = 0;
    };
    const auto in_100_seconds = [](double observation_seconds) {
        constexpr double sample_seconds = 0.002;
        Budget budget(1);
        budget.begin(start);
        double spent = 0;
        Counts counts;
        bool sampled = false;
        for (auto now = start; now < start + seconds(100);) {
            budget.pass(now, spent);
            spent += observation_seconds;
            if (!sampled) budget.on_observation(observation_seconds);
            ++counts.observations;
            const auto until = budget.too_dear_until(spent, sample_seconds, now);
            sampled = !until;
            if (until) {
                now = *until + milliseconds(1);
            } else {
                spent += sample_seconds;
                ++counts.samples;
                now += milliseconds(1);
            }
        }
        return counts;
    };
    const auto free = in_100_seconds(0), cheap = in_100_seconds(0.0001);
    CHECK(free.samples >= 480);
    CHECK(cheap.samples >= 400);
    CHECK(cheap.observations < 3 * cheap.samples);
    // An observation that costs as much as a sample halves the number of samples at least.
    const auto dear = in_100_seconds(0.002);
    CHECK(dear.samples >= 120);
    CHECK(dear.observations < 4 * dear.samples);
}

TEST_CASE("what is spent without samples leaves half of what is earned for these") {
    Budget budget(1);
    budget.begin(start);
    double spent = 0;
    int samples = 0;
    constexpr double sample_seconds = 0.002;
    for (auto now = start; now < start + seconds(100); now += milliseconds(10)) {
        budget.pass(now, spent);
        spent += 0.0005;
        budget.write_off(0.0005, 0.01);
        if (budget.too_dear_until(spent, sample_seconds, now)) continue;
        spent += sample_seconds;
        ++samples;
    }
    // 0.99 s are earned, and half of that buys these.
    CHECK(samples >= 240);
    CHECK(samples <= 250);
    // Less than half is a cost like all others.
    CHECK(budget.write_off(0.0001, 0.1) == 0);
    CHECK(budget.write_off(0.0015, 0.1) == doctest::Approx(0.0010).epsilon(0.02));
}

TEST_CASE("what a target that slept was not slowed by is not made up for") {
    Budget budget(1);
    budget.begin(start);
    const auto later = start + seconds(3600);
    budget.pass(later, 0.01);
    CHECK(wait_seconds(budget, later, 0.06) <= 0);
    CHECK(wait_seconds(budget, later, 0.16) == doctest::Approx(0.1 * 101));
}

TEST_CASE("a cost that slows one process of several is a smaller one") {
    Budget one(1), four(1);
    for (auto* budget : {&one, &four}) budget->begin(start);
    one.pass(start + seconds(1), 0, 1);
    four.pass(start + seconds(1), 0, 4);
    const auto now = start + seconds(1);
    CHECK(wait_seconds(one, now, 0.039) > 2.5);
    CHECK(wait_seconds(four, now, 0.039) <= 0);
    Budget idle(1);
    idle.begin(start);
    idle.pass(now, 0, 0);
    CHECK(wait_seconds(idle, now, 0.039) == doctest::Approx(wait_seconds(one, now, 0.039)));
}

TEST_CASE("a cost beyond all measure is put off, not overflown") {
    Budget budget(0.001);
    budget.begin(start);
    CHECK(wait_seconds(budget, start, 1e9) > 1e5);
}

TEST_CASE("a budget that changes keeps what was earned, and one that begins later owes nothing") {
    Budget budget(1);
    budget.begin(start);
    budget.pass(start + milliseconds(505), 0.005);
    budget.change(100);
    const auto now = start + milliseconds(505);
    CHECK(wait_seconds(budget, now, 0.015) == doctest::Approx(0.02));
    Budget later(100);
    later.begin(now, 0.3);
    CHECK(wait_seconds(later, now, 0.31) == doctest::Approx(0.02));
}

}  // namespace shadowprof::budget_test
