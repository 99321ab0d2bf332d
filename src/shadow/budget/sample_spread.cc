#include "shadow/budget/sample_spread.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace shadowprof {
namespace {

constexpr std::uint32_t fewest_looks = 16;
// What is left of the weight of a sample when another one comes: programs change.
constexpr double left = 1 - 1.0 / 128;

double product(std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

// The square of a sample's shares is taken from two halves of its looks: by chance a half differs
// from the whole, and the other half differs by another chance.
void SampleSpread::add(SampleKind kind, const BlockVector& blocks) {
    const auto all = std::reduce(blocks.instructions.begin(), blocks.instructions.end());
    const auto odd = std::reduce(blocks.at_odd_looks.begin(), blocks.at_odd_looks.end());
    if (blocks.looks < fewest_looks || odd == 0 || odd == all) return;
    Shares shares, of_odd, of_even;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const auto here = blocks.instructions[i], odd_here = blocks.at_odd_looks[i];
        shares[i] = static_cast<double>(here) / static_cast<double>(all);
        of_odd[i] = static_cast<double>(odd_here) / static_cast<double>(odd);
        of_even[i] = static_cast<double>(here - odd_here) / static_cast<double>(all - odd);
    }
    fade();
    auto& of_kind = kinds_[static_cast<std::size_t>(kind)];
    of_kind.samples += 1;
    of_kind.squares += product(of_odd, of_even);
    weights_ += 1;
    squared_weights_ += 1;
    std::ranges::transform(sum_, shares, sum_.begin(), std::plus<>{});
    squares_ += product(shares, shares);
}

void SampleSpread::fade() {
    for (auto& kind : kinds_) {
        kind.samples *= left;
        kind.squares *= left;
    }
    weights_ *= left;
    squared_weights_ *= left * left;
    for (auto& share : sum_) share *= left;
    squares_ *= left * left;
}

// From all pairs of different samples, as these are independent.
double SampleSpread::square_of_mean() const {
    return (product(sum_, sum_) - squares_) / (weights_ * weights_ - squared_weights_);
}

std::optional<double> SampleSpread::of(SampleKind kind) const {
    const auto& of_kind = kinds_[static_cast<std::size_t>(kind)];
    if (of_kind.samples < 2 * left) return std::nullopt;
    return of_kind.squares / of_kind.samples - square_of_mean();
}

}  // namespace shadowprof
