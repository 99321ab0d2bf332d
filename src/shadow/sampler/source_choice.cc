#include "shadow/sampler/source_choice.h"

#include <algorithm>

namespace shadowprof {
namespace {

// The share of all costs for what is measured beside samples. A short run, which can afford only a
// few stops, has samples first.
constexpr double share_beside = 0.25;
// How much a shadow sample may cost that is only taken for its window, and which share of a
// process's costs shadow samples may then have.
constexpr double longest_seek_seconds = 0.04;
constexpr double share_of_seeks = 0.25;

bool chooses_by_worth(const RunOptions& options, const SamplingCosts& costs) {
    // A load counts replicas, and recorded input is for them.
    return options.mode == SamplingMode::automatic && costs.share() && !options.load &&
           options.record_input != RecordInput::always;
}

}  // namespace

bool records_input(const RunOptions& options, const SamplingCosts& costs,
                   const SampledProcess& process) {
    if (options.record_input != RecordInput::as_needed)
        return options.record_input == RecordInput::always;
    return costs.share() && process.input_need.is_there();
}

bool seeks_speed(const RunOptions& options, const SamplingCosts& costs,
                 const SampledProcess& process) {
    if (!options.sample_time || !chooses_by_worth(options, costs)) return false;
    const auto most = costs.max_shadow_seconds(process);
    if (process.kinds.choose(most) == SampleKind::shadow || !process.speeds.wants_window())
        return false;
    const auto expected =
        std::min(most, process.kinds.known_cost_seconds(SampleKind::shadow).value_or(most));
    return expected <= longest_seek_seconds &&
           process.kinds.share_of_costs_with(SampleKind::shadow, expected) <= share_of_seeks;
}

SampleSource& SourceChoice::next(const SampledProcess& process) {
    if (is_beside_due(process)) return *beside_;
    beside_had_turn_ = false;
    return sample_source(process);
}

void SourceChoice::on_tried(const SampleSource& source, double cost_seconds) {
    if (&source == beside_) beside_seconds_ += cost_seconds;
}

void SourceChoice::on_done(const SampleSource& source) {
    if (&source == beside_) beside_had_turn_ = true;
}

bool SourceChoice::is_beside_due(const SampledProcess& process) const {
    if (!beside_ || !measures_beside_) return false;
    if (!makes_samples_) return true;
    if (beside_had_turn_) return false;
    const auto expected = beside_->expected_cost_seconds(process);
    return beside_seconds_ + expected <= share_beside * (costs_.total_seconds() + expected) &&
           beside_->may_sample(process);
}

SampleSource& SourceChoice::sample_source(const SampledProcess& process) const {
    if (options_.mode == SamplingMode::live) return live_;
    // A replica would have to end when the process is let go again, and it is let go soon.
    if (options_.mode == SamplingMode::automatic && process.was_let_go) return live_;
    if (!chooses_by_worth(options_, costs_) || seeks_speed(options_, costs_, process))
        return shadows_;
    const auto best = process.kinds.choose(costs_.max_shadow_seconds(process));
    return best == SampleKind::shadow ? shadows_ : live_;
}

double SourceChoice::expected_cost_seconds(const SampledProcess& process) const {
    const auto cost = sample_source(process).expected_cost_seconds(process);
    return beside_ && measures_beside_ ? cost / (1 - share_beside) : cost;
}

}  // namespace shadowprof
