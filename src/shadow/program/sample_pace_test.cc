#include "shadow/program/sample_pace.h"

#include <doctest/doctest.h>

namespace shadowprof::sample_pace_test {
using namespace std::chrono_literals;

namespace {

struct Samples {
    double of_long = 0, of_short = 0, all = 0;
};

// Two processes, one of which runs for `both` of `whole`, at 100 samples a second.
Samples run(std::chrono::milliseconds both, std::chrono::milliseconds whole) {
    SamplePace pace;
    Samples samples;
    const SamplePace::Clock::time_point start{};
    std::chrono::duration<double> now{0};
    while (now < whole) {
        const std::size_t running = now < both ? 2 : 1;
        samples.of_long += 1.0 / static_cast<double>(running);
        samples.of_short += running == 2 ? 0.5 : 0;
        samples.all += 1;
        const auto at = start + std::chrono::duration_cast<SamplePace::Clock::duration>(now);
        now += 10ms * pace.note(running, at);
    }
    return samples;
}

}  // namespace

TEST_CASE("a process that runs alone for half of its life gets its share") {
    const auto samples = run(10s, 20s);
    CHECK(samples.of_long / samples.of_short > 1.9);
    CHECK(samples.of_long / samples.of_short < 2.3);  // 3 at an even pace
    CHECK(samples.all == doctest::Approx(2000).epsilon(0.25));
}

TEST_CASE("while the number of processes does not change, neither does the pace") {
    CHECK(run(0s, 5s).all == doctest::Approx(500).epsilon(0.01));
    CHECK(run(5s, 5s).all == doctest::Approx(500).epsilon(0.01));
}

TEST_CASE("the pace is bounded, and that of nothing is even") {
    SamplePace pace;
    const SamplePace::Clock::time_point start{};
    CHECK(pace.note(0, start) == 1);
    CHECK(pace.note(64, start + 1s) == 1);
    CHECK(pace.note(0, start + 2s) == 1);
    CHECK(pace.note(1, start + 2s) == 4);
}

}  // namespace shadowprof::sample_pace_test
