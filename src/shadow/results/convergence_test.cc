#include "shadow/results/convergence.h"

#include <doctest/doctest.h>

#include "profile/collect/test_traces.h"

namespace shadowprof::convergence_test {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// Samples of a loop that takes one of two branches; `share` says how often.
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
        watch.observe(i, PhaseState::known, now += 1s);
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
        watch.observe(++samples, PhaseState::known, now += 1s);
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
    watch.observe(0, PhaseState::known, now);
    for (int i = 0; i < 40; ++i) coins.sample(run, 1);
    watch.observe(40, PhaseState::known, now);
    CHECK_FALSE(watch.is_converged());
    watch.observe(40, PhaseState::known, now + 1h);
    CHECK(watch.is_converged());
}

// A watch that has converged after 32 samples, one a second.
struct Converged {
    Converged() {
        watch.begin(now);
        while (samples < 32) take(1);
        REQUIRE(watch.is_converged());
    }
    void take(double share, PhaseState phase = PhaseState::known) {
        coins.sample(run, share);
        watch.observe(++samples, phase, now += 1s);
    }

    TestRun run;
    Coins coins;
    ConvergenceWatch watch{run.profile, 5};
    ConvergenceWatch::Clock::time_point now{};
    std::uint64_t samples = 0;
};

TEST_CASE("samples are sparse from then on, but where there may be a new phase") {
    Converged c;
    CHECK(c.watch.stretch() == ConvergenceWatch::sparse_stretch);
    c.take(1, PhaseState::doubtful);
    CHECK(c.watch.is_converged());
    CHECK(c.watch.stretch() == 1);
    c.take(1);
    CHECK(c.watch.stretch() == ConvergenceWatch::sparse_stretch);
    CHECK(c.watch.result().taken_up_again == 0);
    CHECK(c.watch.result().samples == 32);
}

TEST_CASE("a new phase takes sampling up again, until it is known and errors are small") {
    Converged c;
    for (int i = 0; i < 6; ++i) {
        c.take(1, PhaseState::is_new);
        CHECK_FALSE(c.watch.is_converged());
        CHECK(c.watch.stretch() == 1);
        CHECK_FALSE(c.watch.result().seconds);
    }
    c.take(1);
    const auto result = c.watch.result();
    CHECK(result.reached);
    CHECK(result.samples == 39);
    CHECK(result.seconds == 39);
    CHECK(result.taken_up_again == 1);
}

TEST_CASE("errors that have grown to twice the limit take it up again, too") {
    Converged c;
    for (int i = 0; i < 10 && c.watch.is_converged(); ++i) c.take(0);
    CHECK_FALSE(c.watch.is_converged());
    CHECK(c.watch.result().taken_up_again == 1);
    CHECK(c.watch.result().error_percent.value() > 10);
}

TEST_CASE("it has lasted when it was so for as long as it took, with samples to show it") {
    Converged c;
    CHECK_FALSE(c.watch.has_lasted(c.now + 30s));  // there was no sample since
    for (int i = 0; i < 4; ++i) c.take(1);
    CHECK_FALSE(c.watch.has_lasted(c.now));
    CHECK_FALSE(c.watch.has_lasted(c.now + 26s));
    CHECK(c.watch.has_lasted(c.now + 27s));  // 31 from the first sample to the 32nd
    c.take(1, PhaseState::doubtful);
    CHECK_FALSE(c.watch.has_lasted(c.now + 1h));
    c.take(1, PhaseState::is_new);
    c.take(1);
    CHECK(c.watch.is_converged());
    CHECK_FALSE(c.watch.has_lasted(c.now + 36s));
    for (int i = 0; i < 4; ++i) c.take(1);
    CHECK(c.watch.has_lasted(c.now + 34s));  // 38 s by then, of which four have passed
}

}  // namespace
}  // namespace shadowprof::convergence_test
