// System calls of samples that have recorded input.
#pragma once

#include "guest_kernel/state/call.h"

namespace shadowprof {

// Answers with what the program got. A wait that the program is still in ends the sample as idle.
SyscallOutcome recorded_input(SyscallCall& call);
SyscallOutcome recorded_wait(SyscallCall& call);

}  // namespace shadowprof
