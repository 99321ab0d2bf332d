// Seccomp filters of a target, which may refuse a call of ours, or kill for it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {

// Sees to it that no filter of a stopped thread kills the target for an injected call. True: its
// filters were suspended, and are in force again with `options` (PTRACE_O_...), which it has.
//
// Suspending them takes CAP_SYS_ADMIN and no filter of our own. So does reading them
// (PTRACE_SECCOMP_GET_FILTER): where they cannot be suspended, nobody can tell what they say.
// Errors: gone; permission: the filters are in force and might kill.
Result<bool> suspend_seccomp(pid_t tid, std::uint64_t options);

// Whether `target`, of status `own` or an ancestor's, has no other filters than process `own`.
// Filters are inherited and only ever added to: that is so for a child of ours with as many of
// them, and for a process that, as we do, has as many as the first process of the namespace, as in
// a container.
bool has_same_filters(const ProcStatus& target, const ProcStatus& own, pid_t own_pid,
                      const ProcStatus& first_process);

}  // namespace shadowprof
