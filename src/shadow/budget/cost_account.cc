#include "shadow/budget/cost_account.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "base/clock.h"
#include "base/guest_address.h"

namespace shadowprof {
namespace {

// The value below which `share` of the sorted list lies (nearest rank).
double percentile_us(const std::vector<std::uint64_t>& sorted_ns, double share) {
    if (sorted_ns.empty()) return 0;
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted_ns.size())));
    return static_cast<double>(sorted_ns[std::max<std::size_t>(rank, 1) - 1]) / 1e3;
}

// An estimate of more than the whole run took only says that costs were most of it.
constexpr double max_of_run = 0.98;

// Nanoseconds of processor time per write to pages that a forked child shares or has shared. A
// loaded machine does not make it longer.
double time_shared_writes(volatile char* memory, std::size_t pages) {
    const auto start = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t i = 0; i < pages; ++i) memory[i * page_bytes] = 2;
    const auto spent = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    return static_cast<double>(spent) / static_cast<double>(pages);
}

// Returns the child's id, or what fork() returned on an error.
pid_t fork_waiting_child() {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) pause();
    _exit(0);
}

void end_child(WaitHub& hub, pid_t child) {
    kill(child, SIGKILL);
    (void)hub.reap(child);
}

}  // namespace

double CostAccount::total_seconds() const {
    return static_cast<double>(stopped_ns_ + syscall_stops_ns_ + looks_ns_) / 1e9 +
           fault_prices_.seconds(induced_faults_) + event_stops_seconds_ + theft_seconds_;
}

double CostAccount::estimated_slowdown_percent(double target_seconds) const {
    if (target_seconds <= 0) return 0;
    const auto cost = std::min(total_seconds(), max_of_run * target_seconds);
    return 100 * cost / (target_seconds - cost);
}

void CostAccount::fill(Overhead& overhead, double target_seconds) const {
    overhead.stops = pauses_ns_.size();
    overhead.stopped_seconds = static_cast<double>(stopped_ns_) / 1e9;
    overhead.pause = duration_stats(pauses_ns_);
    overhead.forks = forks_ns_.size();
    overhead.fork = duration_stats(forks_ns_);
    overhead.induced_faults = induced_faults_.copied + induced_faults_.reused;
    overhead.waited_seconds = theft_seconds_;
    overhead.estimated_slowdown_percent = estimated_slowdown_percent(target_seconds);
}

DurationStats duration_stats(std::vector<std::uint64_t> nanoseconds) {
    std::sort(nanoseconds.begin(), nanoseconds.end());
    return {.p50_us = percentile_us(nanoseconds, 0.5),
            .p99_us = percentile_us(nanoseconds, 0.99),
            .max_us = percentile_us(nanoseconds, 1)};
}

FaultPrices measure_fault_prices(WaitHub& hub) {
    constexpr std::size_t pages = 256;
    void* memory = mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) return {};
    madvise(memory, pages * page_bytes, MADV_NOHUGEPAGE);
    auto* bytes = static_cast<volatile char*>(memory);
    for (std::size_t i = 0; i < pages; ++i) bytes[i * page_bytes] = 1;
    FaultPrices prices;
    if (const pid_t child = fork_waiting_child(); child > 0) {
        prices.copy_ns = time_shared_writes(bytes, pages);
        end_child(hub, child);
    }
    if (const pid_t child = fork_waiting_child(); child > 0) {
        end_child(hub, child);
        prices.reuse_ns = std::min(time_shared_writes(bytes, pages), prices.copy_ns);
    }
    munmap(memory, pages * page_bytes);
    return prices;
}

}  // namespace shadowprof
