// How much the samples of each kind differ from each other: the more, the more of them a profile
// needs.
//
// The shares of blocks in a sample are a draw x, whose mean µ is the program's own. A profile of n
// samples has an error of E|x - µ|² / n. Most of it is how much the program does now this and now
// that, so it depends on how long samples are, and on the program.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "profile/block_vector.h"
#include "shadow/budget/sample_kind.h"

namespace shadowprof {

class SampleSpread {
  public:
    // Samples with few looks are left out.
    void add(SampleKind kind, const BlockVector& blocks);

    // E|x - µ|² of the kind: an estimate without bias, which may be negative. Nothing without two
    // samples of it.
    std::optional<double> of(SampleKind kind) const;
    // From about so many samples, as older ones fade.
    double samples(SampleKind kind) const { return kinds_[static_cast<std::size_t>(kind)].samples; }

  private:
    using Shares = std::array<double, BlockVector::buckets>;
    struct Kind {
        double samples = 0;
        double squares = 0;  // of |x|², without what few looks add to it
    };

    void fade();
    double square_of_mean() const;

    std::array<Kind, 2> kinds_;
    // Of all samples: the sums of weights, of their squares, of vectors, and of |x|².
    double weights_ = 0, squared_weights_ = 0;
    Shares sum_ = {};
    double squares_ = 0;
};

}  // namespace shadowprof
