// The processes that descend from another one, as /proc lists them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace shadowprof {

struct Descendant {
    pid_t pid = 0;
    pid_t parent = 0;

    friend auto operator<=>(const Descendant&, const Descendant&) = default;
};

// Returns the processes that descend from `pid` now, parents before their children, without
// those of shadowprof itself. One that is born or ends meanwhile may be missing, and so may those
// below it.
std::vector<Descendant> read_descendants(pid_t pid);

// The same by what each thread says of its children. Nothing if the kernel does not list them
// (CONFIG_PROC_CHILDREN).
std::optional<std::vector<Descendant>> descendants_by_threads(pid_t pid);
// The same by what each process of the system says of its parent.
std::vector<Descendant> descendants_by_parents(pid_t pid);

}  // namespace shadowprof
