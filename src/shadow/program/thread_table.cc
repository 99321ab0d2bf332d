#include "shadow/program/thread_table.h"

#include <bit>

#include "profile/merge/join.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {

void ThreadTable::add(pid_t pid, std::span<const ThreadShare> shares, std::uint32_t weight) {
    for (const auto& [tid, instructions] : shares) {
        const std::pair id(pid, tid);
        const bool has_room = rows_.size() < max_threads || rows_.contains(id);
        Row& row = rows_[has_room ? id : std::pair(pid, pid_t{0})];
        ++row.samples;
        row.instructions += instructions * weight;
        // A thread may change its name; most do so when they begin.
        if (tid == 0 || !has_room || !std::has_single_bit(row.samples)) continue;
        if (const auto name = read_thread_name(pid, tid)) row.name = *name;
    }
}

std::vector<ThreadProfile> ThreadTable::profiles(const CountScale& scale) const {
    std::vector<ThreadProfile> profiles;
    for (const auto& [id, row] : rows_)
        profiles.push_back({id.first, id.second, row.name, row.samples, scale(row.instructions)});
    join_and_sort(profiles);
    return profiles;
}

}  // namespace shadowprof
