// What a process asks and sets about itself: limits, names, scheduling, and registers that only
// system calls can access.
#include <asm/prctl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "guest_kernel/calls/identity.h"
#include "guest_kernel/calls/memory.h"
#include "guest_kernel/calls/transfer.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

Emulated<SampleFacts::Limit> limit_of(SyscallCall& call, std::uint32_t resource) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (resource >= facts->limits.size()) return failure(EINVAL);
    auto changed = call.sample.process.limits.find(resource);
    if (changed != call.sample.process.limits.end()) return changed->second;
    if (!facts->limits_known)
        return ends(SampleEnd::unsafe_syscall, "the resource limits are not known");
    return facts->limits[resource];
}

SyscallOutcome set_limit(SyscallCall& call, std::uint32_t resource, GuestAddress from) {
    TRY_ASSIGN(SampleFacts::Limit old, limit_of(call, resource));
    TRY_ASSIGN(auto wanted, load<SampleFacts::Limit>(call, from));
    if (wanted.soft > wanted.hard) return failure(EINVAL);
    if (wanted.hard > old.hard) return ends(SampleEnd::unsafe_syscall, "raises a limit");
    if (resource == RLIMIT_STACK)
        return ends(SampleEnd::unsafe_syscall, "changes how far the stack may grow");
    call.sample.process.limits.insert_or_assign(resource, wanted);
    return answer(0);
}

timeval to_timeval(std::uint64_t ns) {
    return {static_cast<time_t>(ns / ns_per_second),
            static_cast<suseconds_t>(ns % ns_per_second / 1000)};
}

struct rusage usage_of(const SampleFacts& facts, std::uint64_t elapsed_ns) {
    struct rusage usage {};
    usage.ru_utime = to_timeval(facts.user_ns + elapsed_ns);
    usage.ru_stime = to_timeval(facts.system_ns);
    usage.ru_maxrss = static_cast<long>(facts.max_resident_kib);
    usage.ru_minflt = static_cast<long>(facts.minor_faults);
    usage.ru_majflt = static_cast<long>(facts.major_faults);
    return usage;
}

SyscallOutcome priority_bound(int policy, int of_real_time) {
    switch (policy) {
        case SCHED_FIFO:
        case SCHED_RR:
            return answer(of_real_time);
        case SCHED_OTHER:
        case SCHED_BATCH:
        case SCHED_IDLE:
        case 6 /* SCHED_DEADLINE */:
            return answer(0);
        default:
            return failure(EINVAL);
    }
}

SyscallOutcome get_name(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    auto name = call.sample.thread().name.value_or(facts->command);
    return guest_store(call.space, call.address(1), name) ? answer(0) : failure(EFAULT);
}

SyscallOutcome set_name(SyscallCall& call) {
    std::array<char, 16> name{};
    for (std::size_t i = 0; i + 1 < name.size(); ++i) {
        TRY_ASSIGN(name[i], load<char>(call, call.address(1) + i));
        if (name[i] == 0) break;
    }
    call.sample.thread().name = name;
    return answer(0);
}

SyscallOutcome set_base(std::uint64_t& base, std::uint64_t value) {
    if (value >= task_bytes) return failure(EPERM);
    base = value;
    return answer(0);
}

// struct rseq as in Linux 6.3.
struct RestartableSequence {
    std::uint32_t cpu_start, cpu;
    std::uint64_t section;
    std::uint32_t flags, node, memory_cpu;
};
constexpr std::uint32_t min_rseq_bytes = 32;

}  // namespace

SyscallOutcome sys_uname(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (!facts->uname_known) return ends(SampleEnd::unsafe_syscall, "the host name is not known");
    return guest_store(call.space, call.address(0), facts->uname) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_umask(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    std::uint32_t old = call.sample.process.umask.value_or(facts->umask);
    call.sample.process.umask = call.uint_arg(0) & 0777;
    return answer(old);
}

SyscallOutcome sys_getrlimit(SyscallCall& call) {
    TRY_ASSIGN(SampleFacts::Limit limit, limit_of(call, call.uint_arg(0)));
    return guest_store(call.space, call.address(1), limit) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_setrlimit(SyscallCall& call) {
    return set_limit(call, call.uint_arg(0), call.address(1));
}

SyscallOutcome sys_prlimit64(SyscallCall& call) {
    TRY(facts_of(call, call.int_arg(0)));
    TRY_ASSIGN(SampleFacts::Limit old, limit_of(call, call.uint_arg(1)));
    if (call.arg(2) != 0) {
        auto set = set_limit(call, call.uint_arg(1), call.address(2));
        if (set.end || set.value != 0) return set;
    }
    return call.store_result(call.address(3), old);
}

SyscallOutcome sys_getrusage(SyscallCall& call) {
    int who = call.int_arg(0);
    if (who == RUSAGE_CHILDREN)
        return ends(SampleEnd::unsafe_syscall, "the resource usage of children is not known");
    if (who != RUSAGE_SELF && who != RUSAGE_THREAD) return failure(EINVAL);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    auto usage = usage_of(*facts, call.elapsed_ns);
    return guest_store(call.space, call.address(1), usage) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_sysinfo(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    return guest_store(call.space, call.address(0), facts->sysinfo) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_getpriority(SyscallCall& call) {
    if (call.uint_arg(0) > PRIO_USER) return failure(EINVAL);
    if (call.uint_arg(0) != PRIO_PROCESS) return other_process();
    TRY_ASSIGN(const SampleFacts* facts, facts_of(call, call.int_arg(1)));
    return answer(20 - facts->nice);
}

SyscallOutcome sys_sched_getaffinity(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, facts_of(call, call.int_arg(0)));
    std::uint32_t room = call.uint_arg(1);
    if (facts->affinity_bytes == 0)
        return ends(SampleEnd::unsafe_syscall, "the CPU affinity is not known");
    if (room < facts->affinity_bytes || room % sizeof(std::uint64_t) != 0) return failure(EINVAL);
    auto bytes = std::as_bytes(std::span(facts->affinity)).first(facts->affinity_bytes);
    return call.space.write(call.address(2), bytes) ? answer(facts->affinity_bytes)
                                                    : failure(EFAULT);
}

SyscallOutcome sys_sched_getparam(SyscallCall& call) {
    if (call.arg(1) == 0) return failure(EINVAL);
    TRY_ASSIGN(const SampleFacts* facts, facts_of(call, call.int_arg(0)));
    return call.store_result(call.address(1), facts->scheduling_priority);
}

SyscallOutcome sys_sched_getscheduler(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, facts_of(call, call.int_arg(0)));
    return answer(facts->scheduling_policy);
}

SyscallOutcome sys_sched_get_priority_max(SyscallCall& call) {
    return priority_bound(call.int_arg(0), 99);
}

SyscallOutcome sys_sched_get_priority_min(SyscallCall& call) {
    return priority_bound(call.int_arg(0), 1);
}

SyscallOutcome sys_getcpu(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    auto stored = call.store_result(call.address(0), facts->cpu);
    return stored.value != 0 ? stored : call.store_result(call.address(1), facts->node);
}

SyscallOutcome sys_getrandom(SyscallCall& call) {
    constexpr std::uint32_t known = GRND_NONBLOCK | GRND_RANDOM | 4 /* GRND_INSECURE */;
    if (call.uint_arg(2) & ~known) return failure(EINVAL);
    return give_to_guest(call, one_range(call.address(0), call.arg(1)),
                         [&](std::span<std::byte> to) -> Emulated<std::size_t> {
                             call.sample.random.fill(to);
                             return to.size();
                         });
}

SyscallOutcome sys_prctl(SyscallCall& call) {
    switch (call.int_arg(0)) {
        case PR_GET_NAME:
            return get_name(call);
        case PR_SET_NAME:
            return set_name(call);
        case PR_SET_VMA:
        case PR_SET_TIMERSLACK:
        case PR_SET_PDEATHSIG:
            return answer(0);
        default:
            return ends(SampleEnd::unsafe_syscall, "an operation that is not emulated");
    }
}

SyscallOutcome sys_arch_prctl(SyscallCall& call) {
    switch (call.int_arg(0)) {
        case ARCH_SET_FS:
            return set_base(call.cpu.fs_base, call.arg(1));
        case ARCH_SET_GS:
            return set_base(call.cpu.gs_base, call.arg(1));
        case ARCH_GET_FS:
            return guest_store(call.space, call.address(1), call.cpu.fs_base) ? answer(0)
                                                                              : failure(EFAULT);
        case ARCH_GET_GS:
            return guest_store(call.space, call.address(1), call.cpu.gs_base) ? answer(0)
                                                                              : failure(EFAULT);
        case 0x3001 /* ARCH_CET_STATUS, never in Linux: the C library tries it */:
            return failure(EINVAL);
        default:
            return ends(SampleEnd::unsafe_syscall, "an operation that is not emulated");
    }
}

SyscallOutcome sys_set_robust_list(SyscallCall& call) {
    constexpr std::uint64_t head_bytes = 24;  // struct robust_list_head
    return call.arg(1) == head_bytes ? answer(0) : failure(EINVAL);
}

SyscallOutcome sys_rseq(SyscallCall& call) {
    if (call.int_arg(2) != 0)
        return ends(SampleEnd::unsafe_syscall, "unregisters restartable sequences");
    if (call.sample.thread().rseq_registered) return failure(EBUSY);
    if (call.uint_arg(1) < min_rseq_bytes || call.arg(0) % min_rseq_bytes != 0)
        return failure(EINVAL);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    TRY_ASSIGN(auto area, load<RestartableSequence>(call, call.address(0)));
    area.cpu_start = area.cpu = facts->cpu;
    area.node = facts->node;
    area.memory_cpu = 0;
    if (!guest_store(call.space, call.address(0), area)) return failure(EFAULT);
    call.sample.thread().rseq_registered = true;
    return answer(0);
}

SyscallOutcome sys_membarrier(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    auto command = static_cast<std::uint64_t>(call.uint_arg(0));
    if (command == MEMBARRIER_CMD_QUERY) return answer(facts->membarrier_commands);
    bool known = (command & (command - 1)) == 0 && (command & facts->membarrier_commands) != 0;
    return known ? answer(0) : failure(EINVAL);
}

}  // namespace shadowprof
