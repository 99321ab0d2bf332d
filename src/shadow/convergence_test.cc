#include "shadow/convergence.h"

#include <doctest/doctest.h>

#include "profile/test_traces.h"

namespace shadowprof::convergence_test {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// Samples of a loop that takes one of two branches, as often as `share` says.
struct Coins {
    Coins() {
        program.add(0x1000, Terminator::indirect_jump);
        program.add(0x2000, Terminator::jump, 0x1000);
        program.add(0x3000, Terminator::jump, 0x1000);
    }
    void sample(TestRun& run, double share) {
        std::vector<std::uint64_t> words;
        for (int i = 0; i < 100; ++i)
            words.insert(words.end(), {0, random.unit() <= share ? 1u : 2u});
        run.sample(program, words);
    }

    TestProgram program;
    Random random{1};
};

TEST_CASE("what is the same in each sample converges with the least number of batches") {
    TestRun run;
    Coins coins;
    ConvergenceWatch watch(run.profile, 5);
    ConvergenceWatch::Clock::time_point now{};
    watch.begin(now);
    for (std::uint64_t i = 1; i <= 40; ++i) {
        coins.sample(run, 1);
        watch.observe(i, now += 1s);
        CHECK(watch.is_converged() == (i >= 32));
    }
    const auto result = watch.result();
    CHECK(result.reached);
    CHECK(result.samples == 32);
    CHECK(result.seconds == 32);
    CHECK(result.error_percent.value() < 5);
}

TEST_CASE("the more a program varies, the more samples it takes") {
    TestRun run;
    Coins coins;
    ConvergenceWatch watch(run.profile, 1);
    ConvergenceWatch::Clock::time_point now{};
    std::uint64_t samples = 0;
    const auto take = [&] {
        coins.sample(run, 0.5);
        watch.observe(++samples, now += 1s);
    };
    while (samples < 100) take();
    CHECK_FALSE(watch.is_converged());
    CHECK_FALSE(watch.result().seconds);
    CHECK(watch.result().error_percent.value() > 1);
    // An edge's relative error is 1.96 / sqrt(100 samples), so this takes some 400.
    while (!watch.is_converged() && samples < 2000) take();
    CHECK(watch.is_converged());
    CHECK(samples > 200);
}

TEST_CASE("it is not looked at again at once") {
    TestRun run;
    Coins coins;
    ConvergenceWatch watch(run.profile, 5);
    const ConvergenceWatch::Clock::time_point now{};
    watch.observe(0, now);
    for (int i = 0; i < 40; ++i) coins.sample(run, 1);
    watch.observe(40, now);
    CHECK_FALSE(watch.is_converged());
    watch.observe(40, now + 1h);
    CHECK(watch.is_converged());
}

}  // namespace
}  // namespace shadowprof::convergence_test
