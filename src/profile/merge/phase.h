// The profile of a phase of a run: the difference of two profiles.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

// Returns what was collected between two profiles of one run. `later` must be made by
// ProcessProfile::fill_at_end_of_phase(). Both must be scaled alike (fix_scale()), and their
// modules must have the same numbers. For the first phase, `earlier` is empty.
//  - Counts, instructions and durations are differences. So merge_into() of all phases of a run
//  gives
//    the counts of the whole run, except for what a profile had no room for and for calls through a
//    stub that has led to another function since.
//  - Errors of counts are those of `later`. Estimated values have errors of both.
//  - Pauses, budgets and the estimated slowdown are those of the run so far. So are the exit and
//  the
//    descriptions of the run, but start and duration are the phase's.
//  - A process or thread has what was collected of it in the phase. Those without anything are left
//    out.
// Data streams are left out, as the time of their occurrences is unknown. So are TNV tables,
// convergence and notes, which belong to the whole run.
Profile phase_between(Profile later, const Profile& earlier);

// Returns the time `seconds` after `time`, both in the format of RunInfo::started; `time` itself if
// it cannot be parsed.
std::string time_after(const std::string& time, double seconds);

}  // namespace shadowprof
