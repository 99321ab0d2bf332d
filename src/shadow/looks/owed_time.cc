#include <algorithm>

#include "ptrace/proc/proc.h"
#include "shadow/looks/looks.h"

namespace shadowprof {

// A process that is met for the first time was born since the last look, or before the first one.
bool OwedTime::note(std::uint64_t number, pid_t pid, bool is_first) {
    const auto cpu_ns = read_cpu_ns(pid);
    const auto [at, is_new] = processes_.try_emplace(number);
    Process& process = at->second;
    if (is_new && is_first) process.cpu_ns = cpu_ns;
    process.owed_ns += cpu_ns - std::min(cpu_ns, process.cpu_ns);
    process.cpu_ns = cpu_ns;
    process.found = 0;
    return process.owed_ns != 0;
}

void OwedTime::found(std::uint64_t number) {
    const auto known = processes_.find(number);
    if (known != processes_.end()) ++known->second.found;
}

std::uint64_t OwedTime::take(std::uint64_t number, std::uint64_t wanted_ns) {
    const auto known = processes_.find(number);
    if (known == processes_.end()) return wanted_ns;
    Process& process = known->second;
    const auto found = std::max<std::uint64_t>(process.found, 1);
    const auto taken = std::min(wanted_ns, process.owed_ns / found);
    process.found = found - 1;
    process.owed_ns -= taken;
    return taken;
}

void OwedTime::forget_ended(const ProcessTree& processes) {
    std::erase_if(processes_, [&](const auto& each) {
        const auto process = processes.processes().find(each.first);
        return process == processes.processes().end() || process->second.target->end();
    });
}

}  // namespace shadowprof
