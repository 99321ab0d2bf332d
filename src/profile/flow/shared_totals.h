// Totals that the collectors of a run add to.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "profile/flow/burst_follower.h"
#include "profile/flow/flow_totals.h"
#include "profile/kinds/times/time_weights.h"
#include "profile/statistics/batch_means.h"

namespace shadowprof {

// Groups samples into batches (batch_means.h).
class BatchProgress {
  public:
    void add(const FlowTotals::Batch& part) {
        batch_.instructions += part.instructions;
        batch_.weighted += part.weighted;
        batch_.time_ns += part.time_ns;
    }
    // Ends a sample. Returns true if the batch ends, too.
    bool end_sample() {
        ++samples_;
        ++batch_samples_;
        return batch_samples_ * batches_of_all >= samples_;
    }
    // Begins the next batch.
    FlowTotals::Batch take_batch() {
        batch_samples_ = 0;
        return std::exchange(batch_, {});
    }

  private:
    // A batch has at least 1/batches_of_all of the samples so far. So the first samples are batches
    // of their own, and the number of batches grows with the logarithm of the number of samples.
    static constexpr std::uint64_t batches_of_all = 32;

    std::uint64_t samples_ = 0;
    std::uint64_t batch_samples_ = 0;
    FlowTotals::Batch batch_;
};

// A part of a sample, or all of it, whose weight may still change.
struct HeldPart {
    FlowRecord counts;
    FlowTotals::Batch size;
    std::uint32_t weight = 1;
    std::uint64_t sample = 0;  // SampleStart::number
    // Where the sample began, if that was in the program's own code.
    std::optional<CodeLocation> began_at;
    bool has_one_thread = true;
    bool begins_sample = true;
    bool ends_sample = true;
};

struct SharedTotals {
    std::mutex mutex;
    FlowTotals flow;  // in bursts and outside of them
    BurstTotals bursts;
    std::uint64_t samples = 0;
    std::uint64_t samples_with_bursts = 0;
    std::uint64_t damaged_samples = 0;
    std::uint64_t graphs_emptied = 0;  // because they were full
    BatchProgress progress;
    CountScale scale;  // by the weights that samples began with, of all that was counted

    // With `holds`, parts are held instead of added, as long as there is room.
    SharedTotals(const BlockRegistry& registry, const FlowLimits& limits, bool are_samples,
                 bool holds)
        : flow(registry, limits, are_samples),
          bursts(registry, limits),
          max_held_bytes_(limits.held_bytes),
          holds_(holds) {}

    void add(const FlowTotals::Batch& part) {
        scale.instructions += part.instructions;
        scale.weighted += part.weighted;
        progress.add(part);
    }
    void end_batch() {
        const auto batch = progress.take_batch();
        flow.end_batch(batch);
        bursts.end_batch(batch.weighted);
    }
    void begin_phase() {
        flow.begin_phase();
        bursts.begin_phase();
    }

    // Whether the next part, with so many different paths, is held.
    bool holds(std::size_t paths);
    void hold(HeldPart part);
    // Adds the held parts, each with its own weight, and holds nothing from now on.
    void stop_holding();
    const std::vector<HeldPart>& held() const { return held_; }
    // Returns the totals that result if the held parts have these weights. Needs that something is
    // held or that the batch has ended.
    FlowTotals with_held(const TimeWeights& weights) const;

  private:
    const std::size_t max_held_bytes_;
    bool holds_;
    std::vector<HeldPart> held_;
    std::size_t held_bytes_ = 0;
};

}  // namespace shadowprof
