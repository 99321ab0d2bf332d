// Whether a process inherits the orphans among its descendants.
#pragma once

#include "base/result.h"
#include "ptrace/target.h"

namespace shadowprof {

// Asks the process itself, by an injected prctl(PR_GET_CHILD_SUBREAPER): nobody else knows. The
// answer is written to a word of its memory that is no process's business, behind the end of a
// stack, and is what that word was before. Errors: gone; unsupported: it cannot be asked just now.
Result<bool> inherits_orphans(ScopedStop& stop);

// Whether `target`, which stands still in `stop`, or one of its traced ancestors inherits the
// orphans of its children. The ancestors are stopped for a moment. Errors: gone; system: it cannot
// be known now.
Result<bool> has_orphan_heir(ScopedStop& stop);

}  // namespace shadowprof
