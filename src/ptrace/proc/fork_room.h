// Whether the limits around the target leave room for replicas. A fork that succeeds can still
// starve the target, or have it killed, if limits on memory or processes are near.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// What the limits leave. A member is empty if there is no limit, or none is visible from here.
struct CgroupRoom {
    std::optional<std::uint64_t> memory_bytes;  // file caches count as room
    std::optional<std::uint64_t> processes;
};

// Returns the least room in a process's control groups and those above them. `cgroup_text` is the
// text of /proc/PID/cgroup. `mount` is where the hierarchies of version 1 or 2 are mounted
// (/sys/fs/cgroup).
CgroupRoom read_cgroup_room(std::string_view cgroup_text, const std::string& mount);

// Memory that a fork needs or may need.
struct ForkNeeds {
    std::uint64_t page_tables_bytes = 0;
    std::uint64_t anonymous_bytes = 0;  // resident memory that can be written to and copied
    std::uint64_t data_bytes = 0;       // what strict accounting counts again for each replica
    std::uint64_t huge_bytes = 0;       // resident in pages of hugetlbfs

    static ForkNeeds parse(std::string_view proc_status_text);
    // Returns the bytes for page tables and for copies of pages that the target writes to while
    // `replicas` replicas live.
    std::uint64_t memory_bytes(std::size_t replicas) const;
};

struct MachineMemory {
    std::uint64_t available_bytes = 0;
    std::uint64_t uncommitted_bytes = 0;
    std::uint64_t free_huge_bytes = 0;  // unreserved part of hugetlbfs's pool
    bool strict_accounting = false;     // whether vm.overcommit_memory is 2

    static MachineMemory parse(std::string_view meminfo_text, std::string_view overcommit_text);
};

// Returns why `replicas` at once are too many, or nothing if they are not.
std::optional<std::string> shortage(const ForkNeeds& needs, const CgroupRoom& cgroup,
                                    const MachineMemory& machine, std::size_t replicas);

// Calls shortage() for a process as it is now. Whatever cannot be read counts as sufficient.
std::optional<std::string> find_shortage(pid_t pid, std::size_t replicas);

}  // namespace shadowprof
