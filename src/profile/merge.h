// Adds profiles of many runs or processes together.
#pragma once

#include "profile/profile.h"

namespace shadowprof {

// Adds `more` to `sum`. Modules are the same if their build-ids are, or where one has none, their
// paths. Counts, instructions and durations add up; of pauses and forks the worse percentiles are
// kept, since those of the union cannot be known; target instructions are known if both knew them.
// What describes the run stays that of `sum`. Items that name a module that their profile lacks are
// left out, as nobody can say where they are; the notes tell how many.
void merge_into(Profile& sum, const Profile& more);

}  // namespace shadowprof
