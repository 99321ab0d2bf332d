// Clocks: their values at the snapshot, plus the guest time since.
#include <sys/time.h>
#include <time.h>

#include <optional>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr std::int64_t ns_per_tick = ns_per_second / 100;  // USER_HZ

struct KernelTimes {  // struct tms
    std::int64_t user, system, children_user, children_system;
};

// Negative clock ids are processor-time clocks: the inverted id of a process or thread, above three
// bits of kind (clock_getcpuclockid(3)).
Emulated<std::size_t> own_cpu_clock(SyscallCall& call, std::int32_t id) {
    constexpr std::uint32_t per_thread = 4, scheduler_clock = 2, file_clock = 3;
    auto bits = static_cast<std::uint32_t>(id);
    if ((bits & 3) == file_clock) return failure(EINVAL);
    if ((bits & 3) != scheduler_clock)
        return ends(SampleEnd::unsafe_syscall, "a clock that is not emulated");
    auto owner = static_cast<std::int32_t>(~(id >> 3));
    bool thread = (bits & per_thread) != 0;
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (owner == 0 || owner == (thread ? facts->tid : facts->pid))
        return std::size_t{thread ? std::size_t{CLOCK_THREAD_CPUTIME_ID}
                                  : std::size_t{CLOCK_PROCESS_CPUTIME_ID}};
    return ends(SampleEnd::unsafe_syscall, "the clock of another process or thread");
}

constexpr int retired_clock = 10;  // CLOCK_SGI_CYCLE

Emulated<std::size_t> clock_index(SyscallCall& call, std::int32_t id) {
    if (id < 0) return own_cpu_clock(call, id);
    if (id >= static_cast<std::int32_t>(clock_count) || id == retired_clock) return failure(EINVAL);
    return static_cast<std::size_t>(id);
}

timespec to_timespec(std::int64_t ns) {
    return {ns / ns_per_second, ns % ns_per_second};
}

}  // namespace

SyscallOutcome sys_clock_gettime(SyscallCall& call) {
    TRY_ASSIGN(std::size_t clock, clock_index(call, call.int_arg(0)));
    TRY_ASSIGN(std::int64_t now_ns, call.sample.clock_ns(clock, call.elapsed_ns));
    return guest_store(call.space, call.address(1), to_timespec(now_ns)) ? answer(0)
                                                                         : failure(EFAULT);
}

SyscallOutcome sys_clock_getres(SyscallCall& call) {
    TRY_ASSIGN(std::size_t clock, clock_index(call, call.int_arg(0)));
    TRY_ASSIGN(const SampleClocks* clocks, call.sample.clocks());
    bool coarse = clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
    return call.store_result(call.address(1),
                             to_timespec(coarse ? clocks->coarse_resolution_ns : 1));
}

SyscallOutcome sys_gettimeofday(SyscallCall& call) {
    TRY_ASSIGN(std::int64_t now_ns, call.sample.clock_ns(CLOCK_REALTIME, call.elapsed_ns));
    timeval time{now_ns / ns_per_second, now_ns % ns_per_second / 1000};
    // The kernel's own time zone, which is hardly ever set.
    struct timezone zone {};
    auto stored = call.store_result(call.address(0), time);
    return stored.value != 0 ? stored : call.store_result(call.address(1), zone);
}

SyscallOutcome sys_time(SyscallCall& call) {
    TRY_ASSIGN(std::int64_t now_ns, call.sample.clock_ns(CLOCK_REALTIME_COARSE, call.elapsed_ns));
    std::int64_t seconds = now_ns / ns_per_second;
    auto stored = call.store_result(call.address(0), seconds);
    return stored.value != 0 ? stored : answer(seconds);
}

SyscallOutcome sys_times(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    auto passed_ns =
        static_cast<std::int64_t>(std::min<std::uint64_t>(call.elapsed_ns, INT64_MAX / 4));
    KernelTimes times{(static_cast<std::int64_t>(facts->user_ns) + passed_ns) / ns_per_tick,
                      static_cast<std::int64_t>(facts->system_ns) / ns_per_tick, 0, 0};
    auto stored = call.store_result(call.address(0), times);
    return stored.value != 0 ? stored : answer(facts->ticks + passed_ns / ns_per_tick);
}

SyscallOutcome sys_setitimer(SyscallCall& call) {
    if (call.uint_arg(0) > ITIMER_PROF) return failure(EINVAL);
    if (call.arg(1) != 0) TRY(load<itimerval>(call, call.address(1)));
    if (call.arg(2) != 0)
        return ends(SampleEnd::unsafe_syscall, "asks what the timer was set to before");
    return answer(0);
}

}  // namespace shadowprof
