#include "shadow/input/syscall_stop_price.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "base/clock.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/stopped_thread.h"

namespace shadowprof {
namespace {

constexpr std::size_t timed_stops = 101;

// Median time from one stop to the next of a process that does nothing between them.
Result<double> time_stops(WaitHub& hub, pid_t child) {
    TRY(ptrace_call(PTRACE_SEIZE, child, 0, target_ptrace_options(Forks::detach), "PTRACE_SEIZE"));
    TRY(ptrace_call(PTRACE_INTERRUPT, child, 0, std::uint64_t{0}, "interrupt"));
    TRY_ASSIGN(const WaitStatus status, hub.wait_for(child));
    StoppedThread thread(hub, child, status);
    std::vector<std::int64_t> times_ns;
    for (std::size_t i = 0; i < timed_stops; ++i) {
        const auto start = read_clock_ns(CLOCK_MONOTONIC);
        TRY(thread.advance(StoppedThread::Advance::to_syscall));
        times_ns.push_back(read_clock_ns(CLOCK_MONOTONIC) - start);
    }
    const auto middle = times_ns.begin() + timed_stops / 2;
    std::nth_element(times_ns.begin(), middle, times_ns.end());
    return static_cast<double>(*middle);
}

}  // namespace

double measure_syscall_stop_price_ns(WaitHub& hub) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) {
        }
        _exit(0);
    }
    if (child < 0) return 0;
    const auto price_ns = time_stops(hub, child);
    kill(child, SIGKILL);
    (void)hub.reap(child);
    return price_ns ? *price_ns : 0;
}

}  // namespace shadowprof
