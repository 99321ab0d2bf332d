// Seccomp filters of a target, which may refuse an injected call or kill the target for it.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {

// Ensures that no filter of a stopped thread kills the target for an injected call. Returns true if
// the filters were suspended. Setting `options`, the thread's current PTRACE_O_... flags, puts them
// in force again.
//
// Suspending filters takes CAP_SYS_ADMIN and no filter on our own process. So does reading them
// (PTRACE_SECCOMP_GET_FILTER), so filters that cannot be suspended remain unknown. Errors: gone;
// permission: the filters are in force and might kill the target.
Result<bool> suspend_seccomp(pid_t tid, std::uint64_t options);

// Whether the target has the same filters as our process, whose status is `own`. Filters are
// inherited and only ever added to. So a child of ours with as many filters has the same ones. So
// has a process if both it and we have as many as the first process of the namespace, as in a
// container.
bool has_same_filters(const ProcStatus& target, const ProcStatus& own, pid_t own_pid,
                      const ProcStatus& first_process);

}  // namespace shadowprof
