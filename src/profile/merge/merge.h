// Adds profiles of many runs or processes together.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

// Adds `more` to `sum`. The result does not depend on the order in which profiles are added, nor on
// how they are grouped, but for the rounding of sums of durations and errors; for that
//  - modules are the same if their keys are (profile/merge/joint_modules.h), and are sorted by
//  them, as
//    equally hot items are by their content;
//  - counts, instructions and durations add up. What one profile does not know, as target
//    instructions and a method's instructions, the sum does not know;
//  - errors add up by squares, as those of independent counts: sqrt(e1^2 + e2^2), where both are
//    known. An item that one profile lacks has the error that it has in the other;
//  - an instruction's top values are those of both lists. To a value that one of them does not name
//    it adds no count, but its bound on the counts of such values (ValueProfile::absent_error),
//    which itself adds up by squares;
//  - of pauses and forks the worse percentiles are kept, since those of the union cannot be known,
//    and of budgets and estimated slowdowns the larger;
//  - what describes the run is kept where both agree: command, pid, exit, seed, options, host. The
//    first start is kept, seconds add up. Modes that differ become "mixed";
//  - calibrations of load latencies are kept where all that there are agree;
//  - notes are a sorted set. Of changes while samples were taken, the earliest in their runs are
//    kept; of why exact runs stopped early, what comes first in the alphabet. Convergence is not.
// Items that name a module that their profile lacks are left out, as nobody can say where they are;
// the notes tell how many.
// An empty Profile adds nothing, but knows nothing either: begin with one that is to be added.
void merge_into(Profile& sum, const Profile& more);

}  // namespace shadowprof
