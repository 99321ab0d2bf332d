// Dead children that a target never knew of, and has to reap.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "base/result.h"

namespace shadowprof {

class RemoteSyscall;

// Their process ids in the target's PID namespace.
using Zombies = std::shared_ptr<std::vector<pid_t>>;

// Reaps the dead of the process in whose thread `session` is. Those that are not quite dead yet
// remain.
Result<void> reap_zombies(RemoteSyscall& session, std::vector<pid_t>& zombies);

}  // namespace shadowprof
