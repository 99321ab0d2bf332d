#include "report/diff/table_builder.h"

#include <cmath>
#include <limits>

namespace shadowprof {
namespace {

// If samples have different weights, not all batches count fully. Half of them is taken as a lower
// bound.
std::size_t degrees_of_freedom(const Profile& profile) {
    const auto batches = profile.sampling.counters.find("batches");
    if (batches == profile.sampling.counters.end()) return 3;
    const std::uint64_t runs = std::max<std::uint64_t>(profile.run.merged_runs, 1);
    const std::uint64_t half = batches->second / 2;
    return std::max<std::uint64_t>(half > runs ? half - runs : 0, 3);
}

DiffScale scale_of(const Profile& profile) {
    return {.exact = profile.sampling.exact.has_value(),
            .runs = static_cast<double>(std::max<std::uint64_t>(profile.run.merged_runs, 1)),
            .degrees_of_freedom = degrees_of_freedom(profile)};
}

Measured lacking(const Measured& other, bool exact, bool other_exact) {
    if (exact) return {0, 0};
    if (other_exact) return {0, std::nullopt};
    return {0, other.error};
}

Judgement judgement_of(const DiffEntry& entry) {
    if (!entry.error) return Judgement::unjudged;
    if (entry.difference() == 0) return Judgement::same;
    if (std::abs(entry.difference()) <= *entry.error) return Judgement::noise;
    if (!entry.base) return Judgement::added;
    return entry.next ? Judgement::changed : Judgement::gone;
}

std::size_t& count_of(DiffTable& table, Judgement judgement) {
    if (judgement == Judgement::same) return table.same;
    if (judgement == Judgement::noise) return table.noise;
    return judgement == Judgement::unjudged ? table.unjudged : table.changed;
}

}  // namespace

Measured DiffScale::measured(const Measured& count, double total) const {
    const double divisor = as_counts ? runs : total;
    if (divisor <= 0) return {0, std::nullopt};
    Measured scaled{count.value / divisor, exact ? 0 : count.error};
    if (scaled.error) *scaled.error /= divisor;
    return scaled;
}

DiffScales scales_of(const Profile& base, const Profile& next) {
    DiffScales scales{scale_of(base), scale_of(next)};
    const bool as_counts = scales[0].exact && scales[1].exact;
    for (DiffScale& scale : scales) scale.as_counts = as_counts;
    return scales;
}

void judge(DiffTable& table, const DiffScales& scales) {
    constexpr std::size_t exact = std::numeric_limits<std::size_t>::max();
    const auto degrees = [&](std::size_t side) {
        return scales[side].exact ? exact : scales[side].degrees_of_freedom;
    };
    table.degrees_of_freedom = std::min(degrees(0), degrees(1));
    for (DiffEntry& entry : table.entries) {
        const Measured none;
        entry.base_or_zero =
            entry.base ? *entry.base
                       : lacking(entry.next.value_or(none), scales[0].exact, scales[1].exact);
        entry.next_or_zero =
            entry.next ? *entry.next
                       : lacking(entry.base.value_or(none), scales[1].exact, scales[0].exact);
    }
    const auto tests = std::count_if(
        table.entries.begin(), table.entries.end(),
        [](const DiffEntry& e) { return e.base_or_zero.error && e.next_or_zero.error; });
    const double widening =
        Confidence{static_cast<std::size_t>(tests), table.degrees_of_freedom}.widening();
    for (DiffEntry& entry : table.entries) {
        entry.error = difference_error(entry.base_or_zero, entry.next_or_zero);
        if (entry.error) *entry.error *= widening;
        entry.judgement = judgement_of(entry);
        ++count_of(table, entry.judgement);
    }
    table.compared = table.entries.size();
    std::stable_sort(
        table.entries.begin(), table.entries.end(), [](const DiffEntry& a, const DiffEntry& b) {
            const bool a_changed = is_change(a.judgement), b_changed = is_change(b.judgement);
            if (a_changed != b_changed) return a_changed;
            return a.weight() > b.weight();
        });
}

}  // namespace shadowprof
