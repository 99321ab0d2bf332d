// The processes that descend from a target at the time of the attach. Each becomes a target of its
// own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "ptrace/process/target.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

struct AttachedChild {
    std::unique_ptr<Target> target;
    pid_t parent = 0;
};

struct AttachedChildren {
    std::vector<AttachedChild> children;  // parents before their children
    std::vector<std::string> refusals;    // a sentence for each process that was refused
};

// Attaches to every process that descends from `first` and is not traced by the calling thread yet.
// Those that they create later are followed if those of `first` are. All targets are kept going
// meanwhile. Processes that end meanwhile are left out, and so is shadowprof itself.
AttachedChildren attach_children(WaitHub& hub, Target& first);

}  // namespace shadowprof
