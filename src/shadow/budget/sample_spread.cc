#include "shadow/budget/sample_spread.h"

#include <algorithm>
#include <functional>

namespace shadowprof {
namespace {

constexpr std::uint32_t min_records = 16;
// The weight that older samples keep at each new one, as programs change.
constexpr double remaining_weight = 1 - 1.0 / 128;

}  // namespace

// The square of a deviation is estimated from two halves of a sample's sampled records, as their
// random errors are independent. The mean of the earlier samples stands for µ.
void SampleSpread::add(SampleKind kind, const BlockVector& blocks, double guess) {
    const auto& odd = blocks.at_odd_records;
    auto even = blocks.instructions;
    std::ranges::transform(even, odd, even.begin(), std::minus<>{});
    if (blocks.sampled_records < min_records || BlockVector::sum(odd) == 0 ||
        BlockVector::sum(even) == 0)
        return;
    if (weights_ != 0) {
        auto& measured = kinds_[static_cast<std::size_t>(kind)];
        measured.samples = remaining_weight * measured.samples + 1;
        measured.sum =
            remaining_weight * measured.sum +
            product_of_deviations(BlockVector::shares_of(odd), BlockVector::shares_of(even));
        measured.guesses = remaining_weight * measured.guesses + guess;
    }
    add_to_mean(BlockVector::shares_of(blocks.instructions));
}

// The mean of n samples deviates as well, by an n-th of what one sample does. The result is
// corrected for that.
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
