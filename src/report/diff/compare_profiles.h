// Computes the tables of changes between two profiles.
#pragma once

#include "report/diff/profile_diff.h"

namespace shadowprof {

// Keeps the first `most` entries of each table, but all functions and entries. `pairs` are files
// that are compared with each other: see match_modules().
Diff compare_profiles(ProfileFile& base, ProfileFile& next, std::size_t most,
                      const std::vector<FilePair>& pairs = {});

}  // namespace shadowprof
