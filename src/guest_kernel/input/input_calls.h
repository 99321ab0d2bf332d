// Which system calls bring in input that a sample cannot know, and when two of them are the same.
#pragma once

#include "guest_kernel/state/environment.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// Null if the call is not an input call.
const RecordedUse* find_input_call(const InputCall& call);

// Whether a thread that made the call `asked` did what the other one did with `recorded`: at the
// same instruction, with the same stack pointer and equivalent arguments. Both must be input calls.
bool is_same_call(const InputCall& recorded, const InputCall& asked);

}  // namespace shadowprof
