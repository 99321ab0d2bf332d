#include "shadow/budget/kind_choice.h"

#include <algorithm>
#include <numeric>

namespace shadowprof {
namespace {

// A shadow sample that costs at most this comes before any live sample.
constexpr double cheap_shadow_seconds = 0.004;
// One that may cost more than this is not even tried after live_before_trial live samples.
constexpr double longest_trial_seconds = 0.02;
constexpr std::uint64_t live_before_trial = 4;
constexpr std::uint64_t min_shadows_before_live = 2;
// Samples by time begin with this many windows, unless these have cost more than
// first_windows_seconds: a short run should not spend all that it can afford before live samples
// have shown their worth.
constexpr std::uint64_t windows_before_live = 8;
constexpr double first_windows_seconds = 0.008;
// The first live samples are poor, as their pages and their code are new to the worker. They are
// not judged by fewer than this.
constexpr std::uint64_t fewest_judged_live = 4;
// What was tried without an answer is tried again after this many samples.
constexpr std::uint64_t patience = 32;
// The kind that is worth less is tried the more seldom, the less it is worth, up to this factor.
constexpr double max_patience = 32;
constexpr double smoothing = 0.25;
// Rising costs are followed faster: if a process grows, they rise from one shadow sample to the
// next.
constexpr double smoothing_upwards = 0.5;
// The guess while nothing is known. Samples of fewer instructions than alike_instructions differ
// more the fewer they have, as these are much alike. Most programs go on with what they do for
// about going_on_instructions, so longer samples differ less the more they have.
constexpr double alike_instructions = 100'000, going_on_instructions = 5e6;
// The guess weighs as much as this many samples. Measurements may lower it to min_of_guess at
// most, as a few samples may be alike by chance.
constexpr double samples_of_guess = 8;
constexpr double min_of_guess = 0.05;
// The worth of a sample that is not wanted, relative to one that is.
constexpr double worth_of_unwanted = 0.25;
constexpr std::uint64_t page_growth = 2;
constexpr std::uint64_t few_pages = 1024;
// The assumed cost of a kind before one was taken.
constexpr double first_cost_seconds = 0.0005;

double spread_by_length(double instructions) {
    const auto some = std::max(instructions, 1.0);
    return (1 + alike_instructions / some) / (1 + some / going_on_instructions);
}

void smooth(double& average, bool& known, double value, double upwards = smoothing) {
    const auto part = value > average ? upwards : smoothing;
    average = known ? average + part * (value - average) : value;
    known = true;
}

}  // namespace

// How much samples of a kind differ (SampleSpread), up to a factor that is the same for both kinds.
double KindChoice::expected_spread(SampleKind kind) const {
    double measured = 0, guessed = 0;
    for (const auto each : {SampleKind::shadow, SampleKind::live}) {
        const auto spread = spread_.of(each);
        measured += spread ? spread->sum : 0;
        guessed += spread ? spread->guesses : 0;
    }
    const bool is_known = measured > 0 && guessed > 0;
    const auto guess = (is_known ? measured / guessed : 1) * spread_by_length(of(kind).yield);
    const auto spread = spread_.of(kind);
    if (!spread || !is_known) return guess;
    return std::max((samples_of_guess * guess + spread->sum) / (samples_of_guess + spread->samples),
                    min_of_guess * guess);
}

// How much a sample reduces the error of a profile, per second of its cost and up to a factor.
double KindChoice::worth_per_second(SampleKind kind) const {
    const auto& known = of(kind);
    const auto share = worth_of_unwanted + (1 - worth_of_unwanted) * known.wanted;
    return share / (expected_spread(kind) * std::max(known.cost_seconds, 1e-6));
}

std::uint64_t KindChoice::shadows_before_live() const {
    if (!begins_with_windows_) return min_shadows_before_live;
    return spent_seconds(SampleKind::shadow) <= first_windows_seconds ? windows_before_live : 1;
}

// The choice while too little is known of one kind, else nothing.
std::optional<SampleKind> KindChoice::first_choice(double shadow_bound_seconds) const {
    const auto& shadow = of(SampleKind::shadow);
    const auto& live = of(SampleKind::live);
    if (is_known(SampleKind::shadow)) {
        if (is_known(SampleKind::live) && live.samples >= fewest_judged_live) return std::nullopt;
        const bool live_may_wait = live.samples == 0 && shadow.samples < shadows_before_live();
        return live_may_wait ? SampleKind::shadow : SampleKind::live;
    }
    const bool was_tried = shadow.samples != 0 && samples_ - shadow.last < patience;
    const auto limit =
        live.samples < live_before_trial ? cheap_shadow_seconds : longest_trial_seconds;
    const bool tries = !was_tried && shadow_bound_seconds <= limit;
    return tries ? SampleKind::shadow : SampleKind::live;
}

SampleKind KindChoice::choose(double shadow_bound_seconds) const {
    if (const auto first = first_choice(shadow_bound_seconds)) return *first;
    const auto& shadow = of(SampleKind::shadow);
    const auto& live = of(SampleKind::live);
    const auto worth_of_shadow = worth_per_second(SampleKind::shadow);
    const auto worth_of_live = worth_per_second(SampleKind::live);
    const bool shadows_win = worth_of_shadow > worth_of_live;
    const auto& other = shadows_win ? live : shadow;
    const auto ratio = shadows_win ? worth_of_shadow / std::max(worth_of_live, 1e-9)
                                   : worth_of_live / std::max(worth_of_shadow, 1e-9);
    const auto wait = static_cast<double>(patience) * std::clamp(ratio, 1.0, max_patience);
    const bool is_due = static_cast<double>(samples_ - other.last) > wait &&
                        other.cost_seconds <= longest_trial_seconds;
    return shadows_win != is_due ? SampleKind::shadow : SampleKind::live;
}

void KindChoice::on_pages(std::uint64_t pages) {
    pages_ = pages;
    if (pages > page_growth * pages_at_shadow_ + few_pages) forget(SampleKind::shadow);
}

void KindChoice::on_sample(SampleKind kind) {
    if (kind == SampleKind::shadow) pages_at_shadow_ = pages_;
    ++of(kind).samples;
    of(kind).last = ++samples_;
}

void KindChoice::on_lost(SampleKind kind) {
    of(kind).samples -= of(kind).samples != 0;
}

void KindChoice::on_cost(SampleKind kind, double seconds) {
    smooth(of(kind).cost_seconds, of(kind).has_cost, seconds, smoothing_upwards);
    spent_seconds_[static_cast<std::size_t>(kind)] += seconds;
}

std::optional<double> KindChoice::known_cost_seconds(SampleKind kind) const {
    return of(kind).has_cost ? std::optional(of(kind).cost_seconds) : std::nullopt;
}

double KindChoice::share_of_costs_with(SampleKind kind, double seconds) const {
    const auto all = std::reduce(spent_seconds_.begin(), spent_seconds_.end(), seconds);
    return (spent_seconds(kind) + seconds) / all;
}

void KindChoice::on_yield(SampleKind kind, std::uint64_t instructions, bool is_wanted) {
    smooth(of(kind).yield, of(kind).has_yield, static_cast<double>(instructions));
    smooth(of(kind).wanted, of(kind).has_wanted, is_wanted ? 1 : 0);
}

void KindChoice::on_blocks(SampleKind kind, const BlockVector& blocks, std::uint64_t instructions) {
    spread_.add(kind, blocks, spread_by_length(static_cast<double>(instructions)));
}

double KindChoice::expected_cost_seconds(SampleKind kind) const {
    return known_cost_seconds(kind).value_or(first_cost_seconds);
}

}  // namespace shadowprof
