// How much the samples of each kind differ from each other. The more they differ, the more of them
// a profile needs.
//
// The shares of blocks in a sample are a random vector x. Let µ be the program's own shares. A
// profile of n samples has an error of E
// x - µ
// ² / n. Most of it comes from what the program does at different times, so it depends on the
// program and on how long samples are.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "profile/code/block_vector.h"
#include "shadow/budget/sample_kind.h"

namespace shadowprof {

class SampleSpread {
  public:
    // Adds a sample, unless it has few sampled records. `guess`: the expected
    // x - µ
    // ² of this sample, up to a factor.
    void add(SampleKind kind, const BlockVector& blocks, double guess);

    struct Measured {
        double samples = 0;  // effective number, as older ones fade
        // Measured and guessed
        // x - µ
        // ², summed over the samples. By chance `sum` may be negative.
        double sum = 0, guesses = 0;
    };
    // Nothing before a sample of the kind has followed another sample of any kind.
    std::optional<Measured> of(SampleKind kind) const;

  private:
    using Shares = BlockVector::Shares;

    double product_of_deviations(const Shares& a, const Shares& b) const;
    void add_to_mean(const Shares& shares);

    std::array<Measured, 2> kinds_;
    // Sums of weights, of their squares, and of shares, over all samples.
    double weights_ = 0, squared_weights_ = 0;
    Shares sum_ = {};
};

}  // namespace shadowprof
