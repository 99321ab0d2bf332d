// The tables of a diff.
#pragma once

#include "report/diff/table_builder.h"

namespace shadowprof {

// What tables are made of. By DiffSide.
struct DiffInput {
    std::array<ProfileFile*, 2> files;
    DiffScales scales;
    PlaceMatcher& matcher;

    const Profile& profile(DiffSide side) const {
        return files[static_cast<std::size_t>(side)]->profile;
    }
    SymbolSource& symbols(DiffSide side) const {
        return files[static_cast<std::size_t>(side)]->symbols;
    }
    bool as_counts() const { return scales[0].as_counts; }
};

// By function: instructions of its own (hot_functions()), and how often it was called.
DiffTable diff_functions(const DiffInput& input);
DiffTable diff_entries(const DiffInput& input);
// Paths weigh the instructions executed on them.
DiffTable diff_edges(const DiffInput& input);
DiffTable diff_paths(const DiffInput& input);
// By instruction and register: the share of executions with the value that is the most frequent in
// BASE; where that looks like an address, which differs from run to run, of each profile's own.
// Only where a value is the result of a fifth of the executions in one of the profiles. Sampled
// profiles have no error of that share: the values of one burst are alike.
DiffTable diff_values(const DiffInput& input);
// By level of memory: the share of loads. Its error is as large as if all loads of a burst were of
// one level: never too small.
DiffTable diff_levels(const DiffInput& input);
// By instruction: the median of the cycles that loads took, without an error.
DiffTable diff_loads(const DiffInput& input);

// Fills in name, module and source line from the place.
void name_entry(DiffEntry& entry, DiffKind kind, const DiffInput& input);

}  // namespace shadowprof
