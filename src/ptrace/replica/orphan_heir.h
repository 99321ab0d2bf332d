// Whether a process inherits the orphans among its descendants.
#pragma once

#include "base/result.h"
#include "ptrace/target/target.h"

namespace shadowprof {

// Asks the process by an injected prctl(PR_GET_CHILD_SUBREAPER); /proc does not tell it. The answer
// goes to a word below the thread's red zone that was 0 and is 0 again afterwards. Errors: gone;
// system; unsupported or permission: no thread can be asked.
Result<bool> inherits_orphans(ScopedStop& stop);

// Whether the process that stands still in `stop`, or one of its traced ancestors, inherits the
// orphans of its children. The ancestors are stopped for a moment. One that sleeps where it would
// notice that is woken up once; later its last answer counts, as programs begin to inherit orphans
// before they have descendants. Errors: gone; system: it cannot be known now.
Result<bool> has_orphan_heir(ScopedStop& stop);

}  // namespace shadowprof
