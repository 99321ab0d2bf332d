// What the accuracy of a profile is made up of: spec/metrics.md, "Accuracy of a sampled profile",
// with the papers' sections beside each metric.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
    // What the metric is of two exact profiles: see add_floors().
    std::optional<double> floor = {};
    std::string missing;
    std::size_t entries = 0;           // of the full profile that were looked at
    std::vector<AccuracyEntry> worst;  // largest distance first; none that has none
};

struct Accuracy {
    // Wall's weight matching (shadow-profiling 4.2, equation 1): of the hottest 5% of the full
    // profile's paths, at least one, that share of the flow whose paths are among as many hottest
    // ones of the sampled profile. Distance: 1 - value.
    AccuracyMetric paths;
    // The difference in invariance of top values, DiffTop (shadow-profiling 4.3), in two readings:
    // the mean difference, over instructions in both profiles and weighted by their executions in
    // the full one. Lower is better; distance: the value itself.
    // `values` is between the shares of executions that produced the full profile's top value.
    // Where this is of the run (profile/kinds/values/run_values.h) and the sampled profile has
    // another such, its own top value is taken: an address or the stack guard is no value that
    // differs. `invariances` is between the two profiles' own invariances, whatever their values
    // are, as the paper says. Where a profile states none: what its top value certainly has.
    AccuracyMetric values, invariances;
    std::optional<double> values_covered;  // of the weight: that of instructions in both
    std::size_t values_of_the_run = 0;     // instructions whose own top values were taken
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

// All metrics, and what they are called in texts and files, in the order in which they are shown.
struct AccuracyRow {
    const char* kind;
    const char* measure;
    AccuracyMetric Accuracy::*metric;
};
inline constexpr std::array<AccuracyRow, 7> accuracy_rows{{
    {"paths", "accuracy", &Accuracy::paths},
    {"values", "difference", &Accuracy::values},
    {"invariances", "difference", &Accuracy::invariances},
    {"edges", "accuracy", &Accuracy::edges},
    {"calls", "overlap", &Accuracy::calls},
    {"methods", "overlap", &Accuracy::methods},
    {"streams", "overlap", &Accuracy::streams},
}};

}  // namespace shadowprof
