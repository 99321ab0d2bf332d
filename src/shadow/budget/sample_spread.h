// How much the samples of each kind differ from each other: the more, the more of them a profile
// needs.
//
// The shares of blocks in a sample are a draw x. Let µ be the program's own. A profile of n
// samples has an error of E|x - µ|² / n. Most of it is how much the program does now this and now
// that, so it depends on how long samples are, and on the program.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "profile/code/block_vector.h"
#include "shadow/budget/sample_kind.h"

namespace shadowprof {

class SampleSpread {
  public:
    // Samples with few looks are left out. `guess`: of what this sample contributes, up to a
    // factor.
    void add(SampleKind kind, const BlockVector& blocks, double guess);

    struct Measured {
        double samples = 0;  // from about so many, as older ones fade
        // E|x - µ|², and what was guessed of it; their sums over the samples. By chance the first
        // may be negative.
        double sum = 0, guesses = 0;
    };
    // Nothing without a sample of the kind behind another one of any kind.
    std::optional<Measured> of(SampleKind kind) const;

  private:
    using Shares = BlockVector::Shares;

    double product_of_deviations(const Shares& a, const Shares& b) const;
    void add_to_mean(const Shares& shares);

    std::array<Measured, 2> kinds_;
    // Sums over all samples: of weights, of their squares, and of vectors.
    double weights_ = 0, squared_weights_ = 0;
    Shares sum_ = {};
};

}  // namespace shadowprof
