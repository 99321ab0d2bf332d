// Whether the target's surroundings have room for replicas: a fork that succeeds can still starve
// the target, or have it killed, when limits on memory or processes are near.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// What a limit leaves; nothing where there is no limit, or none that can be seen from here.
struct CgroupRoom {
    std::optional<std::uint64_t> memory_bytes;  // counting file caches as room
    std::optional<std::uint64_t> processes;
};

// The least room in a process's control groups and those above them. `cgroup_text` is that of
// /proc/PID/cgroup, `mount` where the hierarchies are mounted (/sys/fs/cgroup), of version 1 or 2.
CgroupRoom read_cgroup_room(std::string_view cgroup_text, const std::string& mount);

// Memory that a fork needs, or may need, of the target's status and the machine's.
struct ForkNeeds {
    std::uint64_t page_tables_bytes = 0;
    std::uint64_t anonymous_bytes = 0;  // resident: what can be written to and copied
    std::uint64_t data_bytes = 0;       // what strict accounting counts once more
    std::uint64_t huge_bytes = 0;       // resident in pages of hugetlbfs

    static ForkNeeds parse(std::string_view proc_status_text);
    // Page tables, and what the target may write to while `replicas` of them live.
    std::uint64_t memory_bytes(std::size_t replicas) const;
};

struct MachineMemory {
    std::uint64_t available_bytes = 0;
    std::uint64_t uncommitted_bytes = 0;
    std::uint64_t free_huge_bytes = 0;  // in the pool of hugetlbfs, not reserved
    bool strict_accounting = false;     // vm.overcommit_memory is 2

    static MachineMemory parse(std::string_view meminfo_text, std::string_view overcommit_text);
};

// Why `replicas` at once are too much; nothing if they are not.
std::optional<std::string> shortage(const ForkNeeds& needs, const CgroupRoom& cgroup,
                                    const MachineMemory& machine, std::size_t replicas);

// The same of a process as it is now. What cannot be read is taken for sufficient.
std::optional<std::string> find_shortage(pid_t pid, std::size_t replicas);

}  // namespace shadowprof
