#include "profile/latency_levels.h"

#include <algorithm>
#include <cmath>

namespace shadowprof {
namespace {

// The share that takes at least so many cycles.
double share_from(const CycleHistogram& histogram, std::uint64_t cycles) {
    std::uint64_t above = 0;
    for (auto it = histogram.lower_bound(cycles); it != histogram.end(); ++it) above += it->second;
    const auto all = total(histogram);
    return all ? static_cast<double>(above) / static_cast<double>(all) : 0;
}

struct Threshold {
    std::uint64_t cycles = 0;
    double fast_wrong = 1, slow_wrong = 1;  // shares that are on the other's side

    double sum() const { return fast_wrong + slow_wrong; }
};

// In the middle between the two values that it parts.
Threshold part(const CycleHistogram& fast, const CycleHistogram& slow) {
    CycleHistogram both = fast;
    for (const auto& [cycles, count] : slow) both[cycles] += count;
    Threshold best;
    std::uint64_t below = 0;
    for (const auto& [cycles, count] : both) {
        const Threshold here{.cycles = below + (cycles - below + 1) / 2,
                             .fast_wrong = share_from(fast, cycles),
                             .slow_wrong = 1 - share_from(slow, cycles)};
        if (here.sum() < best.sum()) best = here;
        below = cycles;
    }
    return best;
}

void join(LevelSample& into, const LevelSample& more) {
    into.name += "/" + more.name;
    for (const auto& [cycles, count] : more.cycles) into.cycles[cycles] += count;
}

// The pair of neighbours that are hardest to tell apart and cannot be; the end if all can.
std::size_t find_inseparable(const std::vector<LevelSample>& samples, double most_wrong) {
    std::size_t worst = samples.size();
    double worst_share = most_wrong;
    for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
        const auto threshold = part(samples[i].cycles, samples[i + 1].cycles);
        const double wrong = std::max(threshold.fast_wrong, threshold.slow_wrong);
        if (wrong <= worst_share) continue;
        worst = i;
        worst_share = wrong;
    }
    return worst;
}

}  // namespace

std::vector<LatencyLevel> find_levels(std::vector<LevelSample> samples, double most_wrong) {
    std::erase_if(samples, [](const LevelSample& sample) { return total(sample.cycles) == 0; });
    for (auto i = find_inseparable(samples, most_wrong); i < samples.size();
         i = find_inseparable(samples, most_wrong)) {
        join(samples[i], samples[i + 1]);
        samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    std::vector<LatencyLevel> levels;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto from = i == 0 ? 0 : part(samples[i - 1].cycles, samples[i].cycles).cycles;
        levels.push_back({samples[i].name, from, median(samples[i].cycles), 0});
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double beyond =
            i + 1 < levels.size() ? share_from(samples[i].cycles, levels[i + 1].from_cycles) : 0;
        levels[i].right_share = share_from(samples[i].cycles, levels[i].from_cycles) - beyond;
    }
    return levels;
}

std::size_t level_of(const std::vector<LatencyLevel>& levels, std::uint64_t cycles) {
    std::size_t level = 0;
    while (level + 1 < levels.size() && levels[level + 1].from_cycles <= cycles) ++level;
    return level;
}

void classify(LoadLatency& load, const std::vector<LatencyLevel>& levels) {
    load.levels.clear();
    load.lost_cycles = 0;
    if (levels.empty()) return;
    for (const auto& level : levels) load.levels[level.name] = 0;
    load.levels[levels.front().name] += load.reused;
    const auto hit = levels.front().median_cycles;
    for (const auto& [cycles, count] : load.histogram) {
        load.levels[levels[level_of(levels, cycles)].name] += count;
        const auto excess = static_cast<double>(cycles) - hit;
        if (excess > 0)
            load.lost_cycles += static_cast<std::uint64_t>(std::llround(excess)) * count;
    }
}

}  // namespace shadowprof
