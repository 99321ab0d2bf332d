#include "shadow/program/vdso_watch.h"

#include <algorithm>

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// How often in a row a sample waits for threads in the vDSO.
constexpr int max_times_inside = 4;

}  // namespace

void VdsoWatch::find(const Target& target) {
    if (vdso_ && exec_count_ == target.exec_count()) return;
    const auto map = read_memory_map(target.live_thread_id());
    if (!map) return;
    exec_count_ = target.exec_count();
    for (const auto& mapping : map->mappings())
        if (mapping.name == "[vdso]") vdso_ = mapping;
}

bool VdsoWatch::leave_out(const Target& target, std::vector<SampleThread>& threads) {
    const auto is_inside = [&](const SampleThread& thread) {
        if (!thread.runs) return false;
        find(target);
        return vdso_ && vdso_->contains(thread.cpu.rip);
    };
    if (std::ranges::none_of(threads, is_inside)) {
        times_inside_ = 0;
        return true;
    }
    if (++times_inside_ < max_times_inside || is_inside(threads.front())) return false;
    std::erase_if(threads, is_inside);
    return true;
}

}  // namespace shadowprof
