#include "shadow/looks/kernel_share.h"

#include <algorithm>

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

constexpr std::chrono::milliseconds between_reads{500};
constexpr std::uint64_t least_ns = 500'000'000;

}  // namespace

void KernelShare::note(std::uint64_t number, pid_t pid, Clock::time_point now) {
    const auto known = processes_.find(number);
    if (known != processes_.end() && now < known->second.read + between_reads) return;
    note_now(number, pid, now);
}

void KernelShare::note_now(std::uint64_t number, pid_t pid, Clock::time_point now) {
    const auto stat = read_proc_stat(pid);
    if (!stat) return;
    const auto [known, is_new] = processes_.try_emplace(number);
    Process& process = known->second;
    if (!is_new) {
        user_ns_ += stat->user_ns - std::min(stat->user_ns, process.user_ns);
        system_ns_ += stat->system_ns - std::min(stat->system_ns, process.system_ns);
    }
    process = {now, stat->user_ns, stat->system_ns};
}

std::optional<double> KernelShare::share() const {
    const std::uint64_t all = user_ns_ + system_ns_;
    if (all < least_ns) return std::nullopt;
    return static_cast<double>(system_ns_) / static_cast<double>(all);
}

}  // namespace shadowprof
