#include "profile/kinds/latency/latency_levels.h"

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

// Thresholds whose share of wrong loads is at most this much larger are as good as the best.
constexpr double hardly_worse = 0.005;

void join(LevelSample& into, const LevelSample& more) {
    into.name += "/" + more.name;
    for (const auto& [cycles, count] : more.cycles) into.cycles[cycles] += count;
}

// Returns the pair of neighbours that is hardest to separate, if more than `max_wrong` are wrong;
// otherwise the end.
std::size_t find_inseparable(const std::vector<LevelSample>& samples, double max_wrong) {
    std::size_t worst = samples.size();
    double worst_share = max_wrong;
    for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
        const auto parted = separate(samples[i].cycles, samples[i + 1].cycles);
        const double wrong = std::max(parted.fast_wrong, parted.slow_wrong);
        if (wrong <= worst_share) continue;
        worst = i;
        worst_share = wrong;
    }
    return worst;
}

// The sum of the shares of loads on the wrong side of a threshold.
double wrong_at(const CycleHistogram& fast, const CycleHistogram& slow, std::uint64_t cycles) {
    return share_from(fast, cycles) + 1 - share_from(slow, cycles);
}

}  // namespace

double share_from(const CycleHistogram& histogram, std::uint64_t cycles) {
    std::uint64_t above = 0;
    for (auto it = histogram.lower_bound(cycles); it != histogram.end(); ++it) above += it->second;
    const auto all = total(histogram);
    return all ? static_cast<double>(above) / static_cast<double>(all) : 0;
}

Separation separate(const CycleHistogram& fast, const CycleHistogram& slow) {
    if (fast.empty() || slow.empty()) return {};
    CycleHistogram both = fast;
    for (const auto& [cycles, count] : slow) both[cycles] += count;
    // Only values that occur are tried as thresholds: others separate as the next value does.
    std::vector<std::uint64_t> values;
    std::vector<double> wrong;
    for (const auto& [cycles, count] : both) {
        values.push_back(cycles);
        wrong.push_back(wrong_at(fast, slow, cycles));
    }
    const auto best = std::ranges::min_element(wrong) - wrong.begin();
    const auto is_good = [&](auto i) {
        return wrong[static_cast<std::size_t>(i)] <=
               wrong[static_cast<std::size_t>(best)] + hardly_worse;
    };
    auto first = best, last = best;
    while (first > 0 && is_good(first - 1)) --first;
    while (last + 1 < std::ssize(values) && is_good(last + 1)) ++last;
    const auto below = first == 0 ? 0 : values[static_cast<std::size_t>(first - 1)];
    const auto from = below + (values[static_cast<std::size_t>(last)] - below + 1) / 2;
    return {from, share_from(fast, from), 1 - share_from(slow, from)};
}

std::vector<LatencyLevel> find_levels(std::vector<LevelSample> samples, double max_wrong) {
    std::erase_if(samples, [](const LevelSample& sample) { return total(sample.cycles) == 0; });
    for (auto i = find_inseparable(samples, max_wrong); i < samples.size();
         i = find_inseparable(samples, max_wrong)) {
        join(samples[i], samples[i + 1]);
        samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    std::vector<LatencyLevel> levels;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto from =
            i == 0 ? 0 : separate(samples[i - 1].cycles, samples[i].cycles).from_cycles;
        levels.push_back({samples[i].name, from, median(samples[i].cycles), 0});
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double beyond =
            i + 1 < levels.size() ? share_from(samples[i].cycles, levels[i + 1].from_cycles) : 0;
        levels[i].accuracy = share_from(samples[i].cycles, levels[i].from_cycles) - beyond;
    }
    return levels;
}

std::size_t level_of(const std::vector<LatencyLevel>& levels, std::uint64_t cycles) {
    std::size_t level = 0;
    while (level + 1 < levels.size() && levels[level + 1].from_cycles <= cycles) ++level;
    return level;
}

void classify(LoadLatency& load, const LatencyHost& host) {
    load.levels.clear();
    load.lost_cycles = 0;
    const auto& levels = host.levels;
    if (levels.empty()) return;
    for (const auto& level : levels) load.levels[level.name] = 0;
    load.levels[levels.front().name] += load.reused;
    for (const auto& [cycles, count] : load.histogram) {
        const auto level = level_of(levels, cycles);
        load.levels[levels[level].name] += count;
        const auto excess = static_cast<double>(cycles) - host.hit_cycles;
        if (level > 0 && excess > 0)
            load.lost_cycles += static_cast<std::uint64_t>(std::llround(excess)) * count;
    }
}

}  // namespace shadowprof
