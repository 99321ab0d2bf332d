#include "shadow/program/sample_threads.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <span>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

// Most threads in a sample. Each costs the target microseconds, and pools of servers can have many.
constexpr std::size_t max_running = 256;
constexpr std::size_t max_waiting = 64;
// StopLimits::silence. Threads on processors stop one right after the other.
constexpr std::chrono::microseconds live_silence{200};
// Several times as long as a thread has a processor while others want it.
constexpr std::chrono::milliseconds time_slices{10};
constexpr unsigned max_waits_for_us = 4;
// How far from its stack pointer a thread uses its stack.
constexpr std::uint64_t reach_of_stack = 1 << 20;

bool waits_on_futex(const user_regs_struct& registers) {
    const auto operation = registers.rsi & static_cast<unsigned long long>(FUTEX_CMD_MASK);
    return registers.orig_rax == SYS_futex &&
           (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

}  // namespace

// Reads the run counts last, as these must be as new as possible.
RunsBeforeStop::RunsBeforeStop(const Target& target) : pid_(target.pid()) {
    if (target.thread_count() <= 1) return;
    is_read_ = true;
    const int own_cpu = sched_getcpu();
    for (const pid_t tid : target.thread_ids()) {
        const auto stat = read_thread_stat(pid_, tid);
        one_waits_for_us_ |= stat && stat->state == 't';
        if (!stat || stat->state != 'R') continue;
        runs_.emplace(tid, std::nullopt);
        if (stat->cpu == own_cpu) displaced_ = tid;
    }
    for (auto& [tid, runs] : runs_)
        if (const auto known = read_thread_runs(pid_, tid)) runs = known->runs;
}

bool RunsBeforeStop::had_processor(pid_t tid) const {
    if (!is_read_ || tid == displaced_) return true;
    const auto before = runs_.find(tid);
    if (before == runs_.end()) return false;
    if (!before->second) return true;
    const auto now = read_thread_runs(pid_, tid);
    return !now || now->runs == *before->second;
}

bool waits_for_us(SampledProcess& process, const RunsBeforeStop& before) {
    if (before.all_wait_for_us() && ++process.waits_for_us < max_waits_for_us) return true;
    process.waits_for_us = 0;
    return false;
}

std::vector<SampleThread> choose_threads(ScopedStop& stop, ThreadScope scope,
                                         std::mt19937_64& random, const RunsBeforeStop& before) {
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
        if (list.size() == (runs ? max_running : max_waiting)) continue;
        auto snapshot = thread->snapshot();
        const bool in_syscall = static_cast<std::int64_t>(registers->orig_rax) >= 0;
        if (snapshot)
            list.push_back({.tid = thread->tid(),
                            .runs = runs,
                            .had_processor = runs && before.had_processor(thread->tid()),
                            .in_syscall = in_syscall,
                            .cpu = snapshot->cpu});
    }
    if (running.empty()) return {};
    std::stable_partition(running.begin(), running.end(),
                          [](const SampleThread& thread) { return thread.had_processor; });
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

EarlierPages without_other_stacks(EarlierPages pages, const std::vector<SampleThread>& threads) {
    std::vector<std::uint64_t> others;
    for (const auto& thread : std::span(threads).subspan(1))
        if (thread.runs) others.push_back(thread.cpu[Gpr::rsp]);
    if (others.empty()) return pages;
    const auto own = threads[0].cpu[Gpr::rsp];
    pages.has = [has = std::move(pages.has), others = std::move(others), own](GuestAddress page) {
        const auto distance = [page](std::uint64_t to) {
            return std::max(page.value, to) - std::min(page.value, to);
        };
        const auto is_nearer = [&](std::uint64_t other) {
            return distance(other) < std::min(distance(own), reach_of_stack);
        };
        return std::ranges::none_of(others, is_nearer) && (!has || has(page));
    };
    return pages;
}

std::vector<pid_t> tids_of(const std::vector<SampleThread>& threads) {
    std::vector<pid_t> tids;
    for (const auto& thread : threads) tids.push_back(thread.tid);
    return tids;
}

}  // namespace shadowprof
