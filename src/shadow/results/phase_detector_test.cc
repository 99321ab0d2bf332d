#include "shadow/results/phase_detector.h"

#include <doctest/doctest.h>

#include <cmath>

namespace shadowprof::phase_detector_test {
namespace {

// A phase that executes some blocks, each with its own share, seen in samples of some sampled
// records.
class TestPhase {
  public:
    TestPhase(std::uint64_t seed, int blocks) {
        Random random(seed);
        for (int i = 0; i < blocks; ++i) {
            blocks_.push_back(static_cast<BlockToken>(random.next()));
            sum_ += random.unit();
            up_to_.push_back(sum_);
        }
    }
    void observe(BlockVector& vector, Random& random) const {
        const double at = random.unit() * sum_;
        std::size_t i = 0;
        while (up_to_[i] < at) ++i;
        vector.add(blocks_[i], 5 + random.next() % 90);
    }
    BlockVector sample(Random& random, int sampled_records = 200) const {
        BlockVector vector;
        for (int i = 0; i < sampled_records; ++i) observe(vector, random);
        return vector;
    }

  private:
    std::vector<BlockToken> blocks_;
    std::vector<double> up_to_;
    double sum_ = 0;
};

TEST_CASE("a program without phases has none, however noisy its samples") {
    for (const int sampled_records : {20, 50, 200, 2000})
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            CAPTURE(sampled_records);
            CAPTURE(seed);
            const TestPhase phase(seed, 1 + static_cast<int>(seed * seed));
            PhaseDetector detector;
            Random random(seed);
            for (int i = 0; i < 300; ++i) detector.on_sample(phase.sample(random, sampled_records));
            CHECK(detector.changes() == 0);
            CHECK(detector.phases() <= 2);
            CHECK(detector.density() == PhaseDetector::sparsest);
        }
}

TEST_CASE("a new phase is sampled densely, then less and less") {
    const TestPhase first(1, 20), second(2, 20);
    PhaseDetector detector;
    Random random(1);
    CHECK(detector.density() == 1);
    for (const TestPhase* phase : {&first, &second}) {
        for (int i = 0; i < 7; ++i)
            CHECK(detector.on_sample(phase->sample(random)) == PhaseDetector::densest);
        CHECK(detector.on_sample(phase->sample(random)) == 1);
        double last = 1;
        for (int i = 0; i < 200; ++i) {
            const double density = detector.on_sample(phase->sample(random));
            CHECK(density <= last);
            last = density;
        }
        CHECK(last == PhaseDetector::sparsest);
    }
    CHECK(detector.changes() == 1);
    CHECK(detector.phases() == 2);
}

TEST_CASE("a phase that comes back is known") {
    const TestPhase first(1, 20), second(2, 20);
    PhaseDetector detector;
    Random random(2);
    for (int i = 0; i < 100; ++i) detector.on_sample(first.sample(random));
    for (int i = 0; i < 100; ++i) detector.on_sample(second.sample(random));
    detector.on_sample(first.sample(random));
    CHECK(detector.on_sample(first.sample(random)) == 1);
    CHECK(detector.changes() == 2);
    CHECK(detector.phases() == 2);
}

TEST_CASE("one sample of another kind is no change") {
    const TestPhase usual(1, 20), odd(2, 20);
    PhaseDetector detector;
    Random random(3);
    for (int i = 0; i < 200; ++i) detector.on_sample(usual.sample(random));
    CHECK(detector.on_sample(odd.sample(random)) == PhaseDetector::densest);
    CHECK(detector.on_sample(usual.sample(random)) == PhaseDetector::sparsest);
    CHECK(detector.changes() == 0);
}

TEST_CASE("phases that share much of their code are told apart if enough differs") {
    const TestPhase common(1, 20), one(2, 20), other(3, 20);
    const auto mixed = [&](const TestPhase& own, double share, Random& random) {
        BlockVector vector;
        for (int i = 0; i < 250; ++i) (random.coin(share) ? own : common).observe(vector, random);
        return vector;
    };
    for (const double share : {0.05, 0.6}) {
        CAPTURE(share);
        PhaseDetector detector;
        Random random(4);
        for (int i = 0; i < 50; ++i) detector.on_sample(mixed(one, share, random));
        for (int i = 0; i < 50; ++i) detector.on_sample(mixed(other, share, random));
        CHECK(detector.changes() == (share > 0.5 ? 1 : 0));
    }
}

TEST_CASE("a program that always does something new is sampled densely, in bounded space") {
    PhaseDetector detector;
    Random random(5);
    for (std::uint64_t i = 0; i < 500; ++i)
        CHECK(detector.on_sample(TestPhase(i + 1, 5).sample(random)) == PhaseDetector::densest);
    CHECK(detector.phases() <= 32);
}

TEST_CASE("a phase is new, then known, and doubtful where a sample is of one that is not") {
    const TestPhase first(1, 20), second(2, 20);
    PhaseDetector detector;
    Random random(7);
    const auto take = [&](const TestPhase& phase) {
        detector.on_sample(phase.sample(random));
        return detector.state();
    };
    for (int i = 0; i < 7; ++i) CHECK(take(first) == PhaseState::is_new);
    for (int i = 0; i < 20; ++i) CHECK(take(first) == PhaseState::known);
    CHECK(take(second) == PhaseState::doubtful);
    CHECK(take(first) == PhaseState::known);
    CHECK(take(second) == PhaseState::doubtful);
    for (int i = 0; i < 5; ++i) CHECK(take(second) == PhaseState::is_new);
    CHECK(take(second) == PhaseState::known);
    CHECK(take(first) == PhaseState::known);
}

TEST_CASE("a sample that tells nothing changes nothing") {
    PhaseDetector detector;
    CHECK(detector.state() == PhaseState::known);
    CHECK(detector.on_sample({}) == 1);
    Random random(6);
    CHECK(detector.on_sample(TestPhase(1, 5).sample(random, 3)) == 1);
    CHECK(detector.phases() == 0);
}

}  // namespace
}  // namespace shadowprof::phase_detector_test
