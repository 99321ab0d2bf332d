// Why a process cannot be attached to, and what to do about it.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace shadowprof {

// Refuses processes that ptrace would accept but shadowprof cannot profile, and those for which it
// gives a better reason than the kernel: a missing process, a zombie, a kernel thread, a process
// that is already traced (naming its tracer), a program that is not for x86-64, shadowprof itself.
Result<void> check_attachable(pid_t pid);

// Returns an Error that explains why PTRACE_SEIZE failed with `error_number`: another user,
// kernel.yama.ptrace_scope, a missing capability in a container.
Error explain_seize_failure(pid_t pid, int error_number);

}  // namespace shadowprof
