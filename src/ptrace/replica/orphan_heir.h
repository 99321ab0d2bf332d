// Whether a process inherits the orphans among its descendants.
#pragma once

#include "base/result.h"
#include "ptrace/process/target.h"

namespace shadowprof {

// Asks the process by an injected prctl(PR_GET_CHILD_SUBREAPER), as /proc does not tell. The answer
// is written to a word below the thread's red zone that is 0 before and after. Errors: gone;
// system; unsupported or permission: no thread can be asked.
Result<bool> inherits_orphans(ScopedStop& stop);

// Whether the process stopped in `stop`, or one of its traced ancestors, inherits the orphans of
// its children. The ancestors are stopped for a moment. An ancestor that sleeps where it would
// notice the stop is woken only once. Later its last answer counts, as programs begin to inherit
// orphans before they have descendants. Errors: gone; system: the answer is unknown now.
Result<bool> has_orphan_heir(ScopedStop& stop);

}  // namespace shadowprof
