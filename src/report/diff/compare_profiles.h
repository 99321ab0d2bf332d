// Makes the tables of what changed between two profiles.
#pragma once

#include "report/diff/profile_diff.h"

namespace shadowprof {

// Leaves the first `most` entries of each table but functions and entries.
Diff compare_profiles(ProfileFile& base, ProfileFile& next, std::size_t most);

}  // namespace shadowprof
