// The tables of a diff.
#pragma once

#include "report/diff/table_builder.h"

namespace shadowprof {

// The input of all tables. Arrays are indexed by DiffSide.
struct DiffInput {
    std::array<ProfileFile*, 2> files;
    DiffScales scales;
    LocationMatcher& matcher;

    const Profile& profile(DiffSide side) const {
        return files[static_cast<std::size_t>(side)]->profile;
    }
    SymbolSource& symbols(DiffSide side) const {
        return files[static_cast<std::size_t>(side)]->symbols;
    }
    bool as_counts() const { return scales[0].as_counts; }
};

// By function: its own instructions (hot_functions()), and the number of calls.
DiffTable diff_functions(const DiffInput& input);
DiffTable diff_entries(const DiffInput& input);
// Paths count the instructions executed on them.
DiffTable diff_edges(const DiffInput& input);
DiffTable diff_paths(const DiffInput& input);
// By instruction and register: the share of executions with the value that is most frequent in
// BASE. If that value looks like an address, which differs between runs, the most frequent value of
// each profile is taken. Only instructions of which a fifth of the executions produce one value in
// one of the profiles are listed. In sampled profiles the share has no error, as the values of one
// burst are alike.
DiffTable diff_values(const DiffInput& input);
// By level of memory: the share of loads. The error is computed as if all loads of a session were
// of one level, so it is never too small.
DiffTable diff_levels(const DiffInput& input);
// By instruction: the median of the loads' cycles, without an error.
DiffTable diff_loads(const DiffInput& input);

// By function: branches that the modelled predictor mispredicts, and accesses that miss in a level
// of the modelled caches. Only of profiles with the same model. In sampled profiles without an
// error.
DiffTable diff_mispredictions(const DiffInput& input);
DiffTable diff_l1_misses(const DiffInput& input);
DiffTable diff_l2_misses(const DiffInput& input);
DiffTable diff_l3_misses(const DiffInput& input);

// Sets name, module and source line from the place.
void name_entry(DiffEntry& entry, DiffKind kind, const DiffInput& input);

}  // namespace shadowprof
