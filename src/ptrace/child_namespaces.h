// Whether a child of a thread would live where the thread does.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace shadowprof {

// After unshare(CLONE_NEWPID), setns(2) or unshare(CLONE_NEWTIME) a thread's children are born into
// another namespace than its own: the first of them is process 1 there, with which the namespace
// ends, and fixes its clocks (pid_namespaces(7), time_namespaces(7)). No such child may be ours.
// Error: permission.
Result<void> check_child_namespaces(pid_t tid);

// Whether the first process of our PID namespace reaps children that it does not know, and makes
// nothing of them: in the initial one, or by its name. False where that is not known.
bool init_reaps_strangers();

bool shares_our_pid_namespace(pid_t pid);

}  // namespace shadowprof
