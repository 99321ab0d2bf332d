#include "shadow/sample_threads.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>

#include "ptrace/thread_registers.h"

namespace shadowprof {
namespace {

// Each costs the target microseconds; that many can be found in the pools of servers.
constexpr std::size_t most_running = 256;
constexpr std::size_t most_waiting = 64;
// StopLimits::silence: threads on processors stop one right after the other.
constexpr std::chrono::microseconds live_silence{200};
// Longer than a thread has a processor while others want it, several times.
constexpr std::chrono::milliseconds time_slices{10};

bool waits_on_futex(const user_regs_struct& registers) {
    const auto operation = registers.rsi & static_cast<unsigned long long>(FUTEX_CMD_MASK);
    return registers.orig_rax == SYS_futex &&
           (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

}  // namespace

std::vector<SampleThread> choose_threads(ScopedStop& stop, ThreadScope scope,
                                         std::mt19937_64& random) {
    std::vector<const StoppedThread*> order;
    for (const auto& thread : stop.threads())
        if (scope == ThreadScope::all || thread.tid() == stop.target().pid())
            order.push_back(&thread);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<SampleThread> running, waiting;
    for (const auto* thread : order) {
        const auto registers = thread->registers();
        if (!registers) continue;
        const bool runs = !blocked_syscall(*registers);
        if (!runs && !waits_on_futex(*registers)) continue;
        auto& list = runs ? running : waiting;
        if (list.size() == (runs ? most_running : most_waiting)) continue;
        auto snapshot = thread->snapshot();
        const bool in_syscall = static_cast<std::int64_t>(registers->orig_rax) >= 0;
        if (snapshot) list.push_back({thread->tid(), runs, in_syscall, snapshot->cpu});
    }
    if (running.empty()) return {};
    running.insert(running.end(), waiting.begin(), waiting.end());
    return running;
}

StopLimits live_stop_limits(StopLimits::Duration longest, StopLimits::Duration wait_for_processor) {
    return {.longest = longest, .processor_wait = wait_for_processor, .silence = live_silence};
}

std::optional<std::chrono::steady_clock::time_point> another_moment(const Target& target,
                                                                    std::mt19937_64& random) {
    if (!target.had_no_processor()) return std::nullopt;
    const auto wait = std::uniform_real_distribution(0.5, 1.5)(random) * time_slices;
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait);
}

std::vector<pid_t> tids_of(const std::vector<SampleThread>& threads) {
    std::vector<pid_t> tids;
    for (const auto& thread : threads) tids.push_back(thread.tid);
    return tids;
}

}  // namespace shadowprof
