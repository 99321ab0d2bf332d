// Tells from a load's duration which level of memory it came from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// Loads that are known to come from one level.
struct LevelSample {
    std::string name;
    CycleHistogram cycles;
};

// Finds the levels from a sample of each, the fastest first. The threshold between two neighbours
// minimises the sum of the shares of loads on the wrong side; it is the middle of the thresholds
// around the minimum that are hardly worse. If more than `max_wrong` of either sample are still on
// the wrong side, the two become one level with both names. Samples without loads are left out.
std::vector<LatencyLevel> find_levels(std::vector<LevelSample> samples, double max_wrong = 0.1);

// Returns the index of the level that a load of `cycles` is taken for. Needs `levels` that are not
// empty.
std::size_t level_of(const std::vector<LatencyLevel>& levels, std::uint64_t cycles);

// The best threshold between two samples, and the shares of each sample's loads on its wrong side.
// Both shares are 0 if one sample is empty.
struct Separation {
    std::uint64_t from_cycles = 0;
    double fast_wrong = 0, slow_wrong = 0;
};
Separation separate(const CycleHistogram& fast, const CycleHistogram& slow);

// The share of loads that take at least `cycles`; 0 if there are no loads.
double share_from(const CycleHistogram& histogram, std::uint64_t cycles);

// Sets the levels and lost cycles that follow from the histogram. Loads of reused lines are of the
// first level. If the host has no levels, both stay empty.
void classify(LoadLatency& load, const LatencyHost& host);

}  // namespace shadowprof
