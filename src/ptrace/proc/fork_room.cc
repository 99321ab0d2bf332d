#include "ptrace/proc/fork_room.h"

#include <algorithm>
#include <charconv>

#include "base/text/status_field.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// A target that only writes to pages copies about this much during the longest sample.
constexpr std::uint64_t max_copied_bytes = std::uint64_t{64} << 20;
// The number of processes that the target itself may start during a sample.
constexpr std::uint64_t min_processes = 16;

std::optional<std::uint64_t> number(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
}

std::uint64_t kib_field(std::string_view text, std::string_view name) {
    const auto kib = number(status_field(text, name)).value_or(0);
    return std::min(kib, ~std::uint64_t{0} / 1024) * 1024;
}

std::string read_text(const std::string& path) {
    return read_proc_text(path).value_or("");
}

std::optional<std::uint64_t> read_number(const std::string& path) {
    return number(read_text(path));
}

std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
    return a - std::min(a, b);
}

void keep_least(std::optional<std::uint64_t>& least, std::optional<std::uint64_t> value) {
    if (value) least = std::min(least.value_or(*value), *value);
}

// File names of one version of control groups.
struct MemoryFiles {
    const char* limit;
    const char* usage;
    const char* reclaimable;  // field in memory.stat
};
constexpr MemoryFiles files_v1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr MemoryFiles files_v2{"memory.max", "memory.current", "inactive_file"};

std::optional<std::uint64_t> memory_room(const std::string& group, const MemoryFiles& files) {
    const auto limit = read_number(group + files.limit);
    const auto usage = limit ? read_number(group + files.usage) : std::nullopt;
    if (!usage) return std::nullopt;
    const auto cached =
        number(status_field(read_text(group + "memory.stat"), files.reclaimable, ' '));
    return difference(*limit, difference(*usage, cached.value_or(0)));
}

std::optional<std::uint64_t> process_room(const std::string& group) {
    const auto limit = read_number(group + "pids.max");
    const auto count = limit ? read_number(group + "pids.current") : std::nullopt;
    if (!count) return std::nullopt;
    return difference(*limit, *count);
}

// Calls `visit` for the group at `path` below `mount` and for each group above it. In a container
// that hides the groups above its own, the mount itself is its group.
template <typename Visit>
void for_each_group(const std::string& mount, std::string_view path, Visit visit) {
    while (!path.empty() && path != "/") {
        visit(fmt::format("{}{}/", mount, path));
        path = path.substr(0, path.find_last_of('/'));
    }
    visit(mount + "/");
}

bool has_controller(std::string_view controllers, std::string_view wanted) {
    while (!controllers.empty()) {
        const auto comma = std::min(controllers.find(','), controllers.size());
        if (controllers.substr(0, comma) == wanted) return true;
        controllers.remove_prefix(std::min(comma + 1, controllers.size()));
    }
    return false;
}

// Guesses by the name, since a file of hugetlbfs may lie anywhere.
bool has_private_huge_pages(pid_t pid) {
    const auto map = read_memory_map(pid);
    if (!map) return false;
    return std::any_of(map->mappings().begin(), map->mappings().end(), [](const Mapping& each) {
        return each.writable && !each.shared && each.name.find("huge") != std::string::npos;
    });
}

std::string in_mib(std::uint64_t bytes) {
    return fmt::format("{} MiB", bytes >> 20);
}

}  // namespace

CgroupRoom read_cgroup_room(std::string_view text, const std::string& mount) {
    CgroupRoom room;
    const auto visit = [&](const std::string& top, std::string_view path,
                           const MemoryFiles& files) {
        for_each_group(top, path, [&](const std::string& group) {
            keep_least(room.memory_bytes, memory_room(group, files));
            keep_least(room.processes, process_room(group));
        });
    };
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto first = line.find(':');
        const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos || line.find("/..") != line.npos) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        const auto path = line.substr(second + 1);
        if (controllers.empty()) {
            visit(mount, path, files_v2);
            visit(mount + "/unified", path, files_v2);
        }
        for (const std::string_view controller : {"memory", "pids"})
            if (has_controller(controllers, controller))
                visit(fmt::format("{}/{}", mount, controller), path, files_v1);
    }
    return room;
}

ForkNeeds ForkNeeds::parse(std::string_view status) {
    return {.page_tables_bytes = kib_field(status, "VmPTE"),
            .anonymous_bytes = kib_field(status, "RssAnon"),
            .data_bytes = kib_field(status, "VmData"),
            .huge_bytes = kib_field(status, "HugetlbPages")};
}

std::uint64_t ForkNeeds::memory_bytes(std::size_t replicas) const {
    return replicas * (page_tables_bytes + std::min(anonymous_bytes, max_copied_bytes));
}

MachineMemory MachineMemory::parse(std::string_view meminfo, std::string_view overcommit) {
    const auto free_pages = number(status_field(meminfo, "HugePages_Free")).value_or(0);
    const auto reserved_pages = number(status_field(meminfo, "HugePages_Rsvd")).value_or(0);
    const bool known = !status_field(meminfo, "MemAvailable").empty();
    return {.available_bytes = known ? kib_field(meminfo, "MemAvailable") : ~std::uint64_t{0},
            .uncommitted_bytes =
                difference(kib_field(meminfo, "CommitLimit"), kib_field(meminfo, "Committed_AS")),
            .free_huge_bytes =
                difference(free_pages, reserved_pages) * kib_field(meminfo, "Hugepagesize"),
            .strict_accounting = number(overcommit) == std::uint64_t{2}};
}

std::optional<std::string> shortage(const ForkNeeds& needs, const CgroupRoom& cgroup,
                                    const MachineMemory& machine, std::size_t replicas) {
    const auto bytes = needs.memory_bytes(replicas);
    if (cgroup.memory_bytes && *cgroup.memory_bytes < bytes)
        return fmt::format(
            "its memory cgroup has less than {} left, which a forked copy could need",
            in_mib(bytes));
    if (machine.available_bytes < bytes)
        return fmt::format(
            "the machine has less than {} of memory left, which a forked copy could need",
            in_mib(bytes));
    // The target must still be able to commit as much as a replica takes.
    if (machine.strict_accounting && machine.uncommitted_bytes < 2 * replicas * needs.data_bytes)
        return "vm.overcommit_memory is 2, and the commit limit leaves too little for a forked "
               "copy";
    // A page cannot be copied if its pool is empty: the write to it kills the process.
    if (machine.free_huge_bytes < needs.huge_bytes)
        return "it has huge pages, and too few are free to copy them (vm.nr_hugepages)";
    if (cgroup.processes && *cgroup.processes < min_processes + replicas)
        return "its cgroup is close to its limit on processes (pids.max)";
    return std::nullopt;
}

std::optional<std::string> find_shortage(pid_t pid, std::size_t replicas) {
    const auto status = read_text(fmt::format("/proc/{}/status", pid));
    const auto meminfo = read_text("/proc/meminfo");
    if (status.empty() || meminfo.empty()) return std::nullopt;
    auto needs = ForkNeeds::parse(status);
    if (needs.huge_bytes != 0 && !has_private_huge_pages(pid)) needs.huge_bytes = 0;
    return shortage(
        needs, read_cgroup_room(read_text(fmt::format("/proc/{}/cgroup", pid)), "/sys/fs/cgroup"),
        MachineMemory::parse(meminfo, read_text("/proc/sys/vm/overcommit_memory")), replicas);
}

}  // namespace shadowprof
