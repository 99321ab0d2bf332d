// Notices when a program does something else than before, by comparing what samples executed, as
// basic-block vectors, with the phases met so far. New phases are worth more samples, and what has
// been the same for long is worth fewer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/code/block_vector.h"

namespace shadowprof {

// The phase that the program is in, judged by its last samples.
enum class PhaseState : std::uint8_t {
    known,     // in a phase that has had some samples; or there are too few sampled records to tell
               // phases
    doubtful,  // the last sample was of another phase, which has had few
    is_new,    // in a phase that has had few samples
};

class PhaseDetector {
  public:
    // The limits of density(), which is relative to the mean.
    static constexpr double sparsest = 0.5, densest = 2;

    // `blocks`: what the next sample in time has executed. Returns density().
    double on_sample(const BlockVector& blocks);

    // How much denser (above 1) or sparser than on average samples should be from now on.
    double density() const { return density_; }
    // How often one phase followed another, each of which lasted for some samples.
    std::uint64_t changes() const { return changes_; }
    std::size_t phases() const { return phases_.size(); }
    PhaseState state() const;
    // The phase of the last sample, from 0 on.
    std::size_t of_last_sample() const { return candidate_; }

  private:
    using Shares = BlockVector::Shares;
    struct Phase {
        Shares shares{};  // the mean of its samples
        double sampled_records = 0;
        std::uint64_t samples = 0;
        std::uint64_t last_sample = 0;  // number of the last sample
    };

    static double excess_distance(const Phase& phase, const Shares& shares, double sampled_records);
    std::size_t find_phase(const Shares& shares, double sampled_records);
    void note(std::size_t phase);
    double density_in(const Phase& phase) const;

    std::vector<Phase> phases_;
    std::size_t current_ = 0;    // the phase that the program is in
    std::size_t candidate_ = 0;  // the phase of the last sample
    std::uint64_t candidate_samples_ = 0;
    std::uint64_t stable_samples_ = 0;  // since the last change
    std::uint64_t samples_ = 0;
    std::uint64_t changes_ = 0;
    double density_ = 1;
};

}  // namespace shadowprof
