#include "shadow/looks/copied_stacks.h"

#include <fcntl.h>

#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

// Mappings are read again after this time, as they may change without a sign. Reading them takes
// longer the more there are.
constexpr CopiedStacks::Clock::duration longest_map_age = 1s;

bool is_code(const Mapping* mapping) {
    return mapping && mapping->executable;
}

}  // namespace

CopiedStacks::Frames CopiedStacks::frames(const Owner& owner, const CpuState& registers,
                                          const StackCopy& stack, Clock::time_point now) {
    Process& process = process_of(owner);
    const auto age = now - process.map_read;
    if (age > longest_map_age || (!is_code(process.map.find(registers.rip)) && age != 0s)) {
        // The mappings of a process that has ended stay as they were last read.
        auto map = read_memory_map(process.pid);
        if (map && !map->mappings().empty()) process.map = std::move(*map);
        process.map_read = now;
    }
    if (!is_code(process.map.find(registers.rip))) return {};
    CopiedStack memory(stack, process.map, process.memory.get());
    auto addresses = process.unwinder->unwind(registers, process.map, memory);
    if (addresses.empty()) addresses = {registers.rip};
    const auto view = owner.number == 0 ? std::nullopt : std::optional(CodeView::of(owner.pid));
    MapResolver resolver(process.map, modules_, view ? &*view : nullptr);
    Frames frames{.list = {}, .is_cut = memory.is_cut()};
    for (auto at = addresses.rbegin(); at != addresses.rend(); ++at)
        frames.list.push_back(resolver.resolve(*at));
    return frames;
}

CopiedStacks::Process& CopiedStacks::process_of(const Owner& owner) {
    Process& process = processes_[owner.number];
    if (process.pid != owner.pid || process.exec_count != owner.exec_count)
        process = {.pid = owner.pid, .exec_count = owner.exec_count};
    if (process.unwinder) return process;
    process.unwinder = std::make_unique<Unwinder>();
    if (auto memory = open_process_memory(owner.pid, O_RDONLY)) process.memory = std::move(*memory);
    return process;
}

void CopiedStacks::forget_ended(const ProcessTree& processes) {
    std::erase_if(processes_, [](const auto& each) { return each.second.has_ended; });
    for (auto& [number, process] : processes_)
        process.has_ended = !processes.processes().contains(number);
}

}  // namespace shadowprof
