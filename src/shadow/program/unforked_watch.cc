#include "shadow/program/unforked_watch.h"

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// How often in a row the process may change its mappings just before a stop.
constexpr int max_changes = 4;

}  // namespace

void UnforkedWatch::note(const SampleReport& report, pid_t pid) {
    if (is_needed_) return;
    is_needed_ = report.wiped;
    if (!report.missing) return;
    const auto map = read_memory_map(pid);
    is_needed_ = is_needed_ || (map && map->find(*report.missing));
}

bool UnforkedWatch::read(pid_t pid) {
    const auto maps = read_maps_text(pid);
    if (maps && *maps == memory_.maps_text) return true;
    auto memory = UnforkedMemory::read(pid);
    if (!memory) return memory.error().code != ErrorCode::interrupted;
    memory_ = std::move(*memory);
    return true;
}

bool UnforkedWatch::check(const Target& target) {
    const pid_t thread = target.live_thread_id();
    const auto maps = read_maps_text(thread);
    if (maps && *maps == memory_.maps_text) {
        changes_ = 0;
        return true;
    }
    if (++changes_ < max_changes) return false;
    auto memory = UnforkedMemory::read(thread);
    if (!memory) return false;
    memory_ = std::move(*memory);
    return true;
}

}  // namespace shadowprof
