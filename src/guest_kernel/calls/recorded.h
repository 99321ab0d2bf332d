// System calls of samples that have recorded input.
#pragma once

#include "guest_kernel/state/call.h"

namespace shadowprof {

// Answers with what the program got. recorded_wait() ends the sample as idle if the program still
// waits.
SyscallOutcome recorded_input(SyscallCall& call);
SyscallOutcome recorded_wait(SyscallCall& call);

}  // namespace shadowprof
