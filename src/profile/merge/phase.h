// What a run saw between two moments: the difference of its profiles.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

// What came after `earlier` until `later`, two profiles of one run, of which the later one was made
// by ProcessProfile::fill_at_end_of_phase(). Both are scaled alike (fix_scale()), and their modules
// have the same numbers. The first phase is what came after an empty profile.
//  - Counts, instructions and durations are differences. So what merge_into() makes of all phases
//    of a run has the counts of the whole run; but for what a profile has no room for, and for
//    calls through a stub that has led to another function since.
//  - Errors of counts are those of `later`. Estimated values have errors of both.
//  - Pauses, budgets and the estimated slowdown are those of the run so far. So are the exit and
//    the descriptions of the run; but it starts when the phase does, and lasts as long.
//  - A process or thread is in it with what was seen of it meanwhile. Those of which nothing was
//    seen are left out.
// Left out are data streams, of which it is not known when they occurred, TNV tables, convergence
// and notes, which are of the whole run.
Profile phase_between(Profile later, const Profile& earlier);

// `seconds` after `time`, both as RunInfo::started is. `time` itself if it cannot be read.
std::string time_after(const std::string& time, double seconds);

}  // namespace shadowprof
