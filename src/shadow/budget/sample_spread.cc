#include "shadow/budget/sample_spread.h"

#include <algorithm>
#include <numeric>

namespace shadowprof {
namespace {

constexpr std::uint32_t fewest_looks = 16;
// Of the weight of a sample when another one comes: programs change.
constexpr double remaining_weight = 1 - 1.0 / 128;

}  // namespace

// The square of a deviation is taken from two halves of a sample's looks: by chance a half differs
// from the whole, and the other half differs by another chance. The mean of the earlier samples
// stands for µ.
void SampleSpread::add(SampleKind kind, const BlockVector& blocks, double guess) {
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
    if (weights_ != 0) {
        auto& measured = kinds_[static_cast<std::size_t>(kind)];
        measured.samples = remaining_weight * measured.samples + 1;
        measured.sum = remaining_weight * measured.sum + product_of_deviations(of_odd, of_even);
        measured.guesses = remaining_weight * measured.guesses + guess;
    }
    add_to_mean(shares);
}

// The mean of n samples deviates, too: by an n-th of what one does.
double SampleSpread::product_of_deviations(const Shares& a, const Shares& b) const {
    double product = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double mean = sum_[i] / weights_;
        product += (a[i] - mean) * (b[i] - mean);
    }
    const double samples = weights_ * weights_ / squared_weights_;
    return product * samples / (samples + 1);
}

void SampleSpread::add_to_mean(const Shares& shares) {
    weights_ = remaining_weight * weights_ + 1;
    squared_weights_ = remaining_weight * remaining_weight * squared_weights_ + 1;
    std::ranges::transform(sum_, shares, sum_.begin(),
                           [](double sum, double share) { return remaining_weight * sum + share; });
}

std::optional<SampleSpread::Measured> SampleSpread::of(SampleKind kind) const {
    const auto& measured = kinds_[static_cast<std::size_t>(kind)];
    return measured.samples != 0 ? std::optional(measured) : std::nullopt;
}

}  // namespace shadowprof
