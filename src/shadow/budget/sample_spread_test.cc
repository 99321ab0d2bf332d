#include "shadow/budget/sample_spread.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace shadowprof::sample_spread_test {
namespace {

using enum SampleKind;

// A program that does one of two things for a while, each with blocks of its own, and then one of
// them again. A sample sees some of the blocks that were executed meanwhile.
class Program {
  public:
    explicit Program(int stretches_of_sample) : stretches_(stretches_of_sample) {
        // Chooses tokens so that each has a bucket of its own.
        for (BlockToken token = 0; tokens_.size() < 8; ++token) {
            BlockVector with;
            for (const auto known : tokens_) with.add(known, 1);
            const auto before = with.instructions;
            with.add(token, 1);
            bool is_new = true;
            for (std::size_t i = 0; i < before.size(); ++i)
                is_new &= before[i] == 0 || before[i] == with.instructions[i];
            if (is_new) tokens_.push_back(token);
        }
    }

    BlockVector sample(std::uint32_t sampled_records) {
        BlockVector blocks;
        std::vector<std::size_t> things;
        for (int i = 0; i < stretches_; ++i) things.push_back(random_() % 2);
        for (std::uint32_t i = 0; i < sampled_records; ++i)
            blocks.add(tokens_[4 * things[random_() % things.size()] + random_() % 4], 1);
        return blocks;
    }

  private:
    int stretches_;
    std::vector<BlockToken> tokens_;
    std::mt19937_64 random_{1};
};

double mean(const std::optional<SampleSpread::Measured>& measured) {
    return measured.value().sum / measured.value().samples;
}

double spread_of(int stretches, std::uint32_t sampled_records, int samples) {
    Program program(stretches);
    SampleSpread spread;
    for (int i = 0; i < samples; ++i) spread.add(live, program.sample(sampled_records), 1);
    return mean(spread.of(live));
}

bool is_about(double value, double expected, double share) {
    return value > (1 - share) * expected && value < (1 + share) * expected;
}

}  // namespace

// Each of the two things has four blocks of a quarter each. Their mean has eight of an eighth, so
// x - µ
// ² is 8 · (1/8)² if a sample sees one of the two.
TEST_CASE("samples of one of two things differ, and those of several of them differ less") {
    CHECK(is_about(spread_of(1, 10'000, 200), 1.0 / 8, 0.05));
    CHECK(is_about(spread_of(4, 10'000, 400), 1.0 / 32, 0.3));
}

TEST_CASE("what few sampled records add to the differences is left out") {
    CHECK(is_about(spread_of(1, 16, 1000), 1.0 / 8, 0.15));
    CHECK(std::abs(spread_of(1000, 16, 1000)) < 0.01);
}

TEST_CASE("each kind has its own spread, around what all of them have in common") {
    Program program(1), calm(1000);
    SampleSpread spread;
    CHECK_FALSE(spread.of(live));
    spread.add(live, program.sample(1000), 1);
    CHECK_FALSE(spread.of(live));
    for (int i = 0; i < 200; ++i) {
        spread.add(live, program.sample(1000), 2);
        spread.add(shadow, calm.sample(1000), 3);
    }
    CHECK(is_about(mean(spread.of(live)), 1.0 / 8, 0.1));
    CHECK(mean(spread.of(shadow)) < 0.01);
    CHECK(is_about(spread.of(live)->samples, 128 * (1 - 0.208), 0.02));
    CHECK(is_about(spread.of(live)->guesses, 2 * spread.of(live)->samples, 1e-9));
}

TEST_CASE("a kind that is seldom tried is known") {
    Program program(1);
    SampleSpread spread;
    for (int i = 0; i < 1000; ++i)
        spread.add(i % 200 == 1 ? live : shadow, program.sample(1000), 1);
    CHECK(spread.of(live)->samples > 4.9);
}

TEST_CASE("a sample with few sampled records says nothing") {
    SampleSpread spread;
    for (int i = 0; i < 10; ++i) spread.add(live, Program(1).sample(8), 1);
    CHECK_FALSE(spread.of(live));
}

}  // namespace shadowprof::sample_spread_test
