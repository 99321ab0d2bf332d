#include "shadow/results/phase_detector.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shadowprof {
namespace {

// Manhattan distances are between 0 and 2. Vectors whose distance exceeds what chance explains by
// this much are of different phases.
constexpr double min_difference = 0.35;
// Records are not alike: n of them tell as much as n / unlikeness that are.
constexpr double unlikeness = 2;
constexpr double certainty = 3;  // standard deviations
// Fewer sampled records tell nothing.
constexpr std::uint32_t min_phase_records = 16;
constexpr std::size_t max_phases = 32;
// A phase is new until it has this many samples.
constexpr std::uint64_t new_samples = 8;
// This many samples of another phase in a row make a change, as one may be an exception.
constexpr std::uint64_t samples_of_change = 2;
// After the first number of samples of the same phase, further ones are worth less; after the
// second, least.
constexpr std::uint64_t stable_after = 32, stablest_after = 128;

}  // namespace

// How much farther apart the two are than samples of one phase would be. With n sampled records,
// the share p of a bucket has a variance of p (1 - p) / n. The absolute value of a normal variable
// has a mean of sqrt(2 / pi) standard deviations and a variance of 1 - 2 / pi of the variable's
// own.
double PhaseDetector::excess_distance(const Phase& phase, const Shares& shares,
                                      double sampled_records) {
    const double scale = unlikeness * (1 / sampled_records + 1 / phase.sampled_records);
    double distance = 0, deviations = 0, variances = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        distance += std::abs(phase.shares[i] - shares[i]);
        const double share =
            (phase.shares[i] * phase.sampled_records + shares[i] * sampled_records) /
            (phase.sampled_records + sampled_records);
        const double variance = scale * share * (1 - share);
        deviations += std::sqrt(variance);
        variances += variance;
    }
    constexpr double mean = 2 / std::numbers::pi;
    return distance - std::sqrt(mean) * deviations - certainty * std::sqrt((1 - mean) * variances);
}

// Returns the nearest phase, which learns from the sample, or a new one.
std::size_t PhaseDetector::find_phase(const Shares& shares, double sampled_records) {
    std::size_t nearest = 0;
    double least = min_difference;
    bool found = false;
    for (std::size_t i = 0; i < phases_.size(); ++i) {
        const double excess = excess_distance(phases_[i], shares, sampled_records);
        if (excess >= least) continue;
        least = excess;
        nearest = i;
        found = true;
    }
    if (!found) {
        if (phases_.size() < max_phases) {
            nearest = phases_.size();
            phases_.emplace_back();
        } else {
            nearest = static_cast<std::size_t>(
                std::ranges::min_element(phases_, {}, &Phase::last_sample) - phases_.begin());
            phases_[nearest] = {};
        }
    }
    Phase& phase = phases_[nearest];
    const double part = sampled_records / (phase.sampled_records + sampled_records);
    for (std::size_t i = 0; i < shares.size(); ++i)
        phase.shares[i] += part * (shares[i] - phase.shares[i]);
    phase.sampled_records += sampled_records;
    ++phase.samples;
    phase.last_sample = samples_;
    return nearest;
}

void PhaseDetector::note(std::size_t phase) {
    candidate_samples_ = phase == candidate_ ? candidate_samples_ + 1 : 1;
    candidate_ = phase;
    ++stable_samples_;
    if (samples_ == 1) current_ = phase;
    if (phase == current_ || candidate_samples_ < samples_of_change) return;
    current_ = phase;
    stable_samples_ = candidate_samples_;
    ++changes_;
}

double PhaseDetector::density_in(const Phase& phase) const {
    if (phase.samples < new_samples) return densest;
    if (stable_samples_ <= stable_after) return 1;
    const double stable =
        static_cast<double>(std::min(stable_samples_, stablest_after) - stable_after) /
        static_cast<double>(stablest_after - stable_after);
    return 1 - stable * (1 - sparsest);
}

PhaseState PhaseDetector::state() const {
    if (phases_.empty()) return PhaseState::known;
    if (phases_[current_].samples < new_samples) return PhaseState::is_new;
    return phases_[candidate_].samples < new_samples ? PhaseState::doubtful : PhaseState::known;
}

double PhaseDetector::on_sample(const BlockVector& blocks) {
    const auto& instructions = blocks.instructions;
    if (BlockVector::sum(instructions) == 0 || blocks.sampled_records < min_phase_records)
        return density_;
    ++samples_;
    const auto phase = find_phase(BlockVector::shares_of(instructions),
                                  static_cast<double>(blocks.sampled_records));
    note(phase);
    return density_ = density_in(phases_[phase]);
}

}  // namespace shadowprof
