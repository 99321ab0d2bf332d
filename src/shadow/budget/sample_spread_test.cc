#include "shadow/budget/sample_spread.h"

#include <doctest/doctest.h>

#include <random>

namespace shadowprof::sample_spread_test {
namespace {

using enum SampleKind;

// A program that does one of two things for a while, with the same blocks or with others, and then
// one of them again. A sample sees some of the blocks that were executed meanwhile.
class Program {
  public:
    explicit Program(int stretches_of_sample) : stretches_(stretches_of_sample) {}

    BlockVector sample(std::uint32_t looks) {
        BlockVector blocks;
        std::vector<std::uint64_t> things;
        for (int i = 0; i < stretches_; ++i) things.push_back(random_() % 2);
        for (std::uint32_t i = 0; i < looks; ++i)
            blocks.add(
                static_cast<BlockToken>(8 * things[random_() % things.size()] + random_() % 4), 1);
        return blocks;
    }

  private:
    int stretches_;
    std::mt19937_64 random_{1};
};

double spread_of(int stretches, std::uint32_t looks, int samples) {
    Program program(stretches);
    SampleSpread spread;
    for (int i = 0; i < samples; ++i) spread.add(live, program.sample(looks));
    return spread.of(live).value();
}

}  // namespace

// Four blocks of a quarter each, or four others: the mean has eight of an eighth, so |x - µ|² is
// 8 · (1/8)² where a sample sees one of both.
TEST_CASE("samples of one of two things differ, and those of several of them differ less") {
    CHECK(spread_of(1, 10'000, 200) == doctest::Approx(1.0 / 8).epsilon(0.05));
    CHECK(spread_of(4, 10'000, 400) == doctest::Approx(1.0 / 32).epsilon(0.3));
}

TEST_CASE("what few looks add to the differences is left out") {
    CHECK(spread_of(1, 16, 1000) == doctest::Approx(1.0 / 8).epsilon(0.3));
    CHECK(spread_of(1000, 16, 1000) == doctest::Approx(0).epsilon(0.02));
}

TEST_CASE("each kind has its own spread, around what all of them have in common") {
    Program program(1), calm(1000);
    SampleSpread spread;
    CHECK_FALSE(spread.of(live));
    for (int i = 0; i < 200; ++i) {
        spread.add(live, program.sample(1000));
        spread.add(shadow, calm.sample(1000));
    }
    CHECK(spread.of(live).value() > 0.08);
    CHECK(spread.of(shadow).value() < 0.01);
    CHECK(spread.samples(live) == doctest::Approx(64).epsilon(0.1));
}

TEST_CASE("a sample with few looks says nothing") {
    SampleSpread spread;
    for (int i = 0; i < 10; ++i) spread.add(live, Program(1).sample(8));
    CHECK_FALSE(spread.of(live));
}

}  // namespace shadowprof::sample_spread_test
