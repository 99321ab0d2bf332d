// Whether a child of a thread would live in the namespaces of the thread.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace shadowprof {

// Returns ErrorCode::permission if the thread's next child would be created in another PID or time
// namespace (unshare(2), setns(2)), where it would be the first process.
Result<void> check_child_namespaces(pid_t tid);

// Whether the process reaps children that it does not know and ignores them: because it is the
// first process of the initial PID namespace, or judging by its name. False if unknown.
bool reaps_strangers(pid_t pid);

// False also if the namespace cannot be read.
bool shares_our_pid_namespace(pid_t pid);

}  // namespace shadowprof
