// Whether a child of a thread would live where the thread does.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace shadowprof {

// An error if the thread's next child would be born into another PID or time namespace (unshare(2),
// setns(2)): it would be that namespace's first process. Error: permission.
Result<void> check_child_namespaces(pid_t tid);

// Whether a process reaps children that it does not know, and makes nothing of them: as it is the
// first of the initial PID namespace, or by its name. False where that is not known.
bool reaps_strangers(pid_t pid);

// False also where it cannot be read.
bool shares_our_pid_namespace(pid_t pid);

}  // namespace shadowprof
