// How far a sampled profile is from a full one of the same program: spec/metrics.md, "Accuracy of a
// sampled profile", with the papers' sections beside each metric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace shadowprof {

// What one entry of the profiles adds to a metric's distance from the ideal.
struct AccuracyEntry {
    // A path's blocks; a stream's instructions; of an edge and a call pair both ends; else one
    // location. Modules are those of Accuracy::modules.
    std::vector<CodeLocation> at;
    std::string what;     // an edge's kind, a value's operand, where a stream begins; else empty
    double full = 0;      // its share of all counts in the full profile; of a value, the share of
    double sampled = 0;   // executions with the value that is the full one's top. Sampled: the same
    double distance = 0;  // all entries' make up the metric's distance
};

struct AccuracyMetric {
    // In [0, 1]. Nothing: `missing` says why.
    std::optional<double> value;
    std::string missing;
    std::size_t entries = 0;           // of the full profile that were looked at
    std::vector<AccuracyEntry> worst;  // largest distance first; none that has none
};

struct Accuracy {
    // Wall's weight matching (shadow-profiling 4.2, equation 1): of the hottest 5% of the full
    // profile's paths, at least one, that share of the flow whose paths are among as many hottest
    // ones of the sampled profile. Distance: 1 - value.
    AccuracyMetric paths;
    // DiffTop (shadow-profiling 4.3): the mean difference, over instructions in both profiles and
    // weighted by their executions in the full one, between the shares of executions that produced
    // the full profile's top value. Lower is better; distance: the value itself.
    AccuracyMetric values;
    std::optional<double> values_covered;  // of the weight: that of instructions in both
    // Relative frequencies (instant-profiling 5.4, equations 1 and 2): 1 - half the sum of their
    // differences over the edges of both. Distance: 1 - value.
    AccuracyMetric edges;
    // Overlap (hybrid-profiling-support 5): of the top entries of the full profile that make up
    // 90% of it, the smaller one of their shares in both profiles, as a share of the sum of those
    // in the full one. Methods count by entries and back-edges, streams by heat.
    // Distance: 1 - value.
    AccuracyMetric calls, methods, streams;
    // Instructions profiled / instructions executed. Where the sampled profile does not know the
    // latter, as often as it has runs those of the full one, if that knows.
    std::optional<double> coverage;
    bool coverage_by_full = false;

    bool full_is_exact = false;      // all of it, and nothing diverged
    std::vector<std::string> notes;  // what a reader must know before believing the numbers
    std::vector<Module> modules;     // of both profiles
};

// Modules are the same by profile/joint_modules.h. A metric is left out where one of the profiles
// has not collected its kind. `most` limits each list of worst entries.
// Errors: ErrorCode::invalid for profiles of different programs, or without a module in common.
Result<Accuracy> measure_accuracy(const Profile& full, const Profile& sampled, std::size_t most);

}  // namespace shadowprof
