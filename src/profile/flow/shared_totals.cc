#include "profile/flow/shared_totals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace shadowprof {
namespace {

std::uint32_t times(std::uint32_t weight, double factor) {
    const double product = std::round(static_cast<double>(weight) * factor);
    return static_cast<std::uint32_t>(
        std::clamp(product, 1.0, double{std::numeric_limits<std::uint32_t>::max()}));
}

// A factor for all weights. It reduces the loss when weights are rounded to whole numbers after
// multiplication by their own factors. Profiles are scaled by the mean weight, so it cancels out.
double finer_unit(const std::vector<HeldPart>& parts) {
    constexpr std::uint32_t large = 1 << 16;
    std::uint32_t largest = 1;
    for (const HeldPart& part : parts) largest = std::max(largest, part.weight);
    return largest >= large ? 1 : large / largest;
}

struct Weighing {
    double factor = 1;
    double unit = 1;
};

// Returns true if a batch has ended.
bool add_part(const HeldPart& part, Weighing by, FlowTotals& flow, BatchProgress& progress) {
    const auto weight = times(part.weight, by.factor * by.unit);
    const double time_ns = part.size.time_ns * by.factor;
    flow.add(part.counts, {part.sample, weight}, time_ns);
    progress.add({.instructions = part.size.instructions,
                  .weighted = part.size.instructions * weight,
                  .time_ns = time_ns});
    return part.ends_sample && progress.end_sample();
}

}  // namespace

bool SharedTotals::holds(std::size_t paths) {
    if (holds_ && !flow.has_room_for_paths(paths)) stop_holding();
    return holds_;
}

void SharedTotals::hold(HeldPart part) {
    scale.instructions += part.size.instructions;
    scale.weighted += part.size.weighted;
    held_bytes_ += part.counts.bytes();
    held_.push_back(std::move(part));
    if (held_bytes_ > max_held_bytes_ || flow.has_too_many_stacks()) stop_holding();
}

void SharedTotals::stop_holding() {
    holds_ = false;
    for (const HeldPart& part : std::exchange(held_, {}))
        if (add_part(part, {}, flow, progress)) end_batch();
    held_bytes_ = 0;
    flow.keep_limits();
}

FlowTotals SharedTotals::with_held(const TimeWeights& weights) const {
    FlowTotals all = flow;
    const double unit = finer_unit(held_);
    for (std::uint32_t stratum = 0; stratum <= weights.known_strata; ++stratum) {
        BatchProgress in_stratum;
        for (std::size_t i = 0; i < held_.size(); ++i)
            if (weights.strata[i] == stratum &&
                add_part(held_[i], {weights.factors[i], unit}, all, in_stratum))
                all.end_batch(in_stratum.take_batch());
        all.end_batch(in_stratum.take_batch());
        if (stratum != weights.known_strata) all.end_stratum();
    }
    const auto counting = std::ranges::count_if(held_, [](const HeldPart& part) {
        return part.begins_sample && part.size.instructions != 0;
    });
    if (weights.known_strata != 0)
        all.set_numbers(weights.looks, static_cast<std::uint64_t>(counting));
    return all;
}

}  // namespace shadowprof
