// Which system calls bring in what a sample cannot know, and when two of them are the same.
#pragma once

#include "guest_kernel/state/environment.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// Null if the call is not one of them.
const RecordedUse* find_input_call(const InputCall& call);

// Whether a thread that made the call `asked` did what another did that made `recorded`: at the
// same place, with the same stack and the same wishes. Both must be input calls.
bool is_same_call(const InputCall& recorded, const InputCall& asked);

}  // namespace shadowprof
