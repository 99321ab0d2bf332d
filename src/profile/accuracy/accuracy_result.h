// The metrics of a profile's accuracy. See spec/metrics.md, "Accuracy of a sampled profile"; the
// papers' sections are given at each metric.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace shadowprof {

// One entry of the profiles, and how much it adds to a metric's distance from the ideal.
struct AccuracyEntry {
    // The blocks of a path, the instructions of a stream, both ends of an edge or a call pair, or
    // the one location of any other entry. Modules are those of Accuracy::modules.
    std::vector<CodeLocation> at;
    std::string what;  // an edge's kind, a value's operand or where a stream begins; else empty
    // The entry's share of all counts in each profile. For a value: the share of the executions
    // that produced the full profile's top value.
    double full = 0;
    double sampled = 0;
    double distance = 0;  // all entries' distances add up to the metric's
};

struct AccuracyMetric {
    // In [0, 1]. Without a value, `missing` gives the reason.
    std::optional<double> value;
    // The metric between two exact profiles: see add_floors().
    std::optional<double> floor = {};
    std::string missing;
    std::size_t entries = 0;           // entries of the full profile that were looked at
    std::vector<AccuracyEntry> worst;  // largest distance first, without distances of 0
};

struct Accuracy {
    // Wall's weight matching (shadow-profiling 4.2, equation 1). Let n be 5% of the number of paths
    // in the full profile, at least one. The value is the share of the flow of the full profile's n
    // hottest paths that is in paths which are also among the n hottest of the sampled profile.
    // Distance: 1 - value.
    AccuracyMetric paths;
    // The difference in invariance of top values, DiffTop (shadow-profiling 4.3), in two readings.
    // Both are the mean difference over instructions in both profiles, weighted by their executions
    // in the full one. Lower is better. Distance: the value itself.
    //
    // `values` compares the shares of executions that produced the full profile's top value. If
    // that value belongs to one run (profile/kinds/values/run_values.h), for example an address or
    // the stack guard, and the sampled profile has another such value, the sampled profile's own
    // top value is taken.
    //
    // `invariances` compares the two profiles' own invariances, whatever their values are, as the
    // paper says. Where a profile states none, its lower bound for the top value is taken.
    AccuracyMetric values, invariances;
    std::optional<double> values_covered;  // share of the weight that is of instructions in both
                                           // profiles
    std::size_t values_of_the_run = 0;     // instructions whose own top values were compared
    // Relative frequencies (instant-profiling 5.4, equations 1 and 2): 1 - half the sum of their
    // differences over the edges of both profiles. Distance: 1 - value.
    AccuracyMetric edges;
    // Overlap (hybrid-profiling-support 5). It is taken over the top entries of the full profile
    // that make up 90% of it: the sum of the smaller of each entry's two shares, divided by the sum
    // of the shares in the full profile. Methods count by entries and back-edges, streams by heat.
    // Distance: 1 - value.
    AccuracyMetric calls, methods, streams;
    // Instructions profiled / instructions executed. If the sampled profile does not know the
    // latter, the full profile's number is taken, times the number of the sampled profile's runs.
    std::optional<double> coverage;
    bool coverage_by_full = false;

    bool full_is_exact = false;      // everything was emulated and nothing diverged
    std::vector<std::string> notes;  // what a reader must know before believing the numbers
    std::vector<Module> modules;     // joint modules of both profiles
};

// All metrics and their names in texts and files, in the order in which they are shown.
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
