// Ended children that a target does not know but has to reap.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/result.h"

namespace shadowprof {

class RemoteSyscall;

// Their process ids in the target's PID namespace.
using Zombies = std::shared_ptr<std::vector<pid_t>>;

// Reaps the ended processes in `zombies`, through a thread of their parent. Those that have not
// quite ended yet remain in the list.
Result<void> reap_zombies(RemoteSyscall& session, std::vector<pid_t>& zombies);

}  // namespace shadowprof
