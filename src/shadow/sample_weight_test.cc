#include "shadow/sample_weight.h"

#include <doctest/doctest.h>

namespace shadowprof::sample_weight_test {

TEST_CASE("a sample with a window stands for as many executions as its time is part of the run's") {
    CHECK(sample_weight(0.2, 0.001, 5, 1) == 200 * 32);
    CHECK(sample_weight(0.2, 0.0005, 5'000'000, 1) == 400 * 32);
}

TEST_CASE("one without a window weighs what it would with the speed that it is taken to have") {
    constexpr double speed = 2e9;
    for (const double seconds : {1e-5, 1e-4, 1e-3}) {
        const auto instructions = static_cast<std::uint64_t>(speed * seconds);
        CHECK(sample_weight(0.5, std::nullopt, instructions, speed) ==
              sample_weight(0.5, seconds, instructions, speed));
    }
}

TEST_CASE("a weight is at least 1, and no more than sums can take") {
    CHECK(sample_weight(0, 0.001, 1000, 1e9) == 1);
    CHECK(sample_weight(0, std::nullopt, 1000, 1e9) == 1);
    CHECK(sample_weight(1e6, 1e-9, 1000, 1e9) == 100'000'000);
    CHECK(sample_weight(1, std::nullopt, 0, 1e6) == sample_weight(1, std::nullopt, 1000, 1e6));
}

TEST_CASE("the speed of a process is that of all of its windows together") {
    NativeSpeed speed;
    const auto unknown = speed.instructions_per_second();
    CHECK(unknown > 0);
    speed.add(3000, 1e-6);
    CHECK(speed.instructions_per_second() == doctest::Approx(3e9));
    speed.add(1000, 3e-6);
    CHECK(speed.instructions_per_second() == doctest::Approx(1e9));
}

}  // namespace shadowprof::sample_weight_test
