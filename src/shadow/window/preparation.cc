#include "shadow/window/preparation.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof {

namespace {

std::vector<Mapping> code_mappings(const MemoryMap& map) {
    std::vector<Mapping> code;
    std::ranges::copy_if(map.mappings(), std::back_inserter(code),
                         [](const Mapping& mapping) { return mapping.executable; });
    return code;
}

}  // namespace

bool has_other_code(const std::string& before, const std::string& after) {
    const auto old_map = MemoryMap::parse(before);
    const auto new_map = MemoryMap::parse(after);
    return !old_map || !new_map || code_mappings(*old_map) != code_mappings(*new_map);
}

Result<bool> Preparation::work(WorkerProcess& worker, bool& forget_code,
                               PreparationTotals& totals) {
    auto memory = open_process_memory(thread_, O_RDONLY);
    const auto text = read_maps_text(thread_);
    if (!memory || !text) return false;
    TRY_ASSIGN(const auto prepared,
               worker.prepare({.maps_text = *text,
                               .memory_fd = memory->get(),
                               .program_counters = roots_,
                               .bursts = bursts_,
                               .time = std::min<std::chrono::nanoseconds>(slice, left_),
                               .forget_code = std::exchange(forget_code, false)}));
    roots_.clear();
    totals.instructions += prepared.instructions;
    totals.nanoseconds += prepared.nanoseconds;
    left_ -= std::chrono::nanoseconds(prepared.nanoseconds);
    const auto now = read_maps_text(thread_);
    forget_code = !now || (*now != *text && has_other_code(*text, *now));
    return !forget_code && prepared.has_more && left_ > std::chrono::nanoseconds::zero();
}

}  // namespace shadowprof
