// Adds the profiles of many runs or processes.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

// Adds `more` to `sum`. Apart from rounding in sums of durations and errors, the result does not
// depend on the order or the grouping in which profiles are added.
//  - Modules are the same if their keys are equal (profile/merge/joint_modules.h). They are sorted
//  by
//    their keys, and equally hot items by their content.
//  - Counts, instructions and durations add up. A number that one profile does not know, such as
//  target
//    instructions or a method's instructions, is unknown in the sum.
//  - Errors that are known on both sides add up by squares, as those of independent counts:
//    sqrt(e1^2 + e2^2). An item that one profile lacks keeps its error from the other.
//  - An instruction's top values are those of both lists. A list that does not name a value adds no
//    count to it, but its bound on the counts of such values (ValueProfile::absent_error). These
//    bounds add up by squares.
//  - Of pauses and forks the worse percentiles are kept, since those of the union cannot be known.
//  Of
//    budgets and estimated slowdowns the larger are kept.
//  - Descriptions of the run are kept where both agree: command, pid, exit, seed, options, host.
//  The
//    first start is kept, and seconds add up. Modes that differ become "mixed".
//  - Calibrations of load latencies are kept if all that exist agree.
//  - Notes become a sorted set. Of changes while samples were taken, the earliest in their runs are
//    kept; of the reasons why exact runs stopped early, the alphabetically first. Convergence is
//    dropped.
//  - Timelines are left out, which a note says.
// Items in a module that their profile lacks are left out, as their place is unknown, and counted
// in the notes. An empty Profile adds nothing but knows nothing either, so begin with one that is
// to be added.
void merge_into(Profile& sum, const Profile& more);

// Whether a profile is a sum of exact and sampled runs, which its notes say.
bool has_unequal_runs(const Profile& profile);

// The same for what is said of exact runs.
void add_exact(ExactStats& sum, const ExactStats& more);

}  // namespace shadowprof
