#include "shadow/program/fault_price.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace shadowprof::fault_price_test {
namespace {

constexpr double alone = 1e-6;

// A window of code that executes `instructions_per_ns` and pays `fault_us` for a fault.
FaultPrice::Window window(double instructions_per_ns, double fault_us, double faults) {
    constexpr std::uint64_t instructions = 300'000;
    return {.passed_seconds = static_cast<double>(instructions) / instructions_per_ns * 1e-9 +
                              faults * fault_us * 1e-6,
            .faults = faults,
            .instructions = instructions};
}

}  // namespace

TEST_CASE("a price that nothing is known of is half as much again as that of a fault by itself") {
    CHECK(FaultPrice().seconds(alone) == doctest::Approx(1.5 * alone));
    FaultPrice few;
    few.add(window(2, 3, 20));
    CHECK(few.seconds(alone) == doctest::Approx(1.5 * alone));
    // Slower code has fewer faults here, so the slope is not a price of faults.
    FaultPrice alike;
    for (int i = 0; i < 20; ++i) alike.add(window(2 + 0.01 * (i % 5), 1.2, 40.0 + i % 5));
    CHECK(alike.seconds(alone) == doctest::Approx(1.5 * alone));
}

TEST_CASE("the price is what windows with more faults took longer") {
    for (const double us : {1.2, 3.0, 4.5}) {
        FaultPrice price;
        for (int i = 0; i < 20; ++i) price.add(window(2, us, 20.0 * (i % 9)));
        CHECK(price.seconds(alone) == doctest::Approx(us * 1e-6).epsilon(0.02));
    }
}

TEST_CASE("a window that is nearly all faults bounds the price") {
    FaultPrice price;
    for (int i = 0; i < 20; ++i) price.add(window(0.2 + 0.1 * (i % 7), 1.5, 5.0 * (6 - i % 7)));
    price.add(window(100, 1.5, 1000));
    CHECK(price.seconds(alone) == doctest::Approx(1.5e-6).epsilon(0.02));
}

TEST_CASE("windows that make no sense leave the price within its bounds") {
    FaultPrice price;
    for (int i = 0; i < 20; ++i) price.add(window(2, 40, 20.0 * (i % 9)));
    CHECK(price.seconds(alone) == doctest::Approx(5 * alone));
    FaultPrice cheap;
    for (int i = 0; i < 20; ++i) cheap.add(window(2, 0.1, 20.0 * (i % 9)));
    CHECK(cheap.seconds(alone) == doctest::Approx(alone));
    FaultPrice empty;
    for (int i = 0; i < 20; ++i) empty.add({});
    CHECK(empty.seconds(alone) == doctest::Approx(1.5 * alone));
}

}  // namespace shadowprof::fault_price_test
