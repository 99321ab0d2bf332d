// The process or thread that a call is about.
#pragma once

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/environment.h"

namespace shadowprof {

// Ends the sample, as nothing is known about other processes.
SyscallOutcome other_process();

// The facts, if an id argument names the process or the thread itself.
Emulated<const SampleFacts*> facts_of(SyscallCall& call, int id);

}  // namespace shadowprof
