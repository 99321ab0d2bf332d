// Which level of memory a load came from, by how long it took.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// Loads that are known to be of one level.
struct LevelSample {
    std::string name;
    CycleHistogram cycles;
};

// Levels from samples of each, the fastest first. Between neighbours stands the threshold that
// takes the smallest share of each for the other, in sum; in the middle of those around it that are
// hardly worse. Where more than `most_wrong` of either
// are still taken for the other, the two are made one level, of both names. Samples without loads
// are left out.
std::vector<LatencyLevel> find_levels(std::vector<LevelSample> samples, double most_wrong = 0.1);

// Index of the level that a load of so many cycles is of. `levels` is not empty.
std::size_t level_of(const std::vector<LatencyLevel>& levels, std::uint64_t cycles);

// The share of the slower sample's loads that the best threshold between the two leaves on its
// side, and of the faster one's on the other. Both are 0 where one sample is empty.
struct Separation {
    std::uint64_t from_cycles = 0;
    double fast_wrong = 0, slow_wrong = 0;
};
Separation separate(const CycleHistogram& fast, const CycleHistogram& slow);

// The share of loads that take at least so many cycles; 0 if there are none.
double share_from(const CycleHistogram& histogram, std::uint64_t cycles);

// Fills in what follows from the histogram: levels and lost cycles. Loads of reused lines are of
// the first level. Without levels, nothing is known.
void classify(LoadLatency& load, const LatencyHost& host);

}  // namespace shadowprof
