#include "shadow/program/fault_price.h"

#include <algorithm>

namespace shadowprof {
namespace {

// Limits and the first guess of a price, as multiples of the price by itself.
constexpr double min_factor = 1, likely_factor = 1.5, max_factor = 5;
// The share that sums forget with each window. The bound that the cheapest window sets grows as
// much.
constexpr double forgotten = 1.0 / 64;
constexpr double fewest_faults = 300;
// A window with this many faults tells how much one costs at most.
constexpr double many_faults = 100;
// The determinant must have this share of the product of the squares. If all windows have nearly
// the same number of faults per instruction, the two costs cannot be told apart: perl's windows,
// with 14 to 27 faults a millisecond, said 26 us where it is 5.
constexpr double min_determinant = 0.3;

}  // namespace

void FaultPrice::add(const Window& window) {
    const auto instructions = static_cast<double>(window.instructions);
    const auto take = [](double& sum, double value) { sum += value - forgotten * sum; };
    take(instructions_squared_, instructions * instructions);
    take(faults_squared_, window.faults * window.faults);
    take(mixed_, instructions * window.faults);
    take(instructions_by_seconds_, instructions * window.passed_seconds);
    take(faults_by_seconds_, window.faults * window.passed_seconds);
    take(faults_, window.faults);
    max_seconds_ *= 1 + forgotten;
    if (window.faults < many_faults) return;
    const auto bound = window.passed_seconds / window.faults;
    max_seconds_ = max_seconds_ == 0 ? bound : std::min(max_seconds_, bound);
}

double FaultPrice::seconds(double alone_seconds) const {
    auto price = likely_factor * alone_seconds;
    const auto squares = instructions_squared_ * faults_squared_;
    const auto determinant = squares - mixed_ * mixed_;
    if (faults_ >= fewest_faults && determinant > min_determinant * squares)
        price = (instructions_squared_ * faults_by_seconds_ - mixed_ * instructions_by_seconds_) /
                determinant;
    if (max_seconds_ != 0) price = std::min(price, max_seconds_);
    return std::clamp(price, min_factor * alone_seconds, max_factor * alone_seconds);
}

}  // namespace shadowprof
