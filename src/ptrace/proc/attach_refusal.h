// Why a process cannot be attached to, and what to do about it.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace shadowprof {

// Refuses processes that ptrace would accept but shadowprof cannot profile, and those for which it
// gives a better reason than the kernel: a missing process, a zombie, a kernel thread, a process
// that is already traced (naming its tracer), a program that is not for x86-64, shadowprof itself.
Result<void> check_attachable(pid_t pid);

// What decides whether a process may trace another one.
struct TracerRights {
    uid_t effective_uid = 0;
    bool may_trace_privileged = false;     // CAP_SYS_PTRACE, in its own user namespace
    bool in_first_user_namespace = false;  // that of the whole system
    int yama_scope = 0;                    // kernel.yama.ptrace_scope; 0 also if there is none

    static TracerRights of_this_process();
};

// Returns an Error that explains why PTRACE_SEIZE failed with `error_number`: another user,
// kernel.yama.ptrace_scope, a missing capability in a container, a root of a user namespace only, a
// security module.
Error explain_seize_failure(pid_t pid, int error_number, const TracerRights& own);
Error explain_seize_failure(pid_t pid, int error_number);

}  // namespace shadowprof
