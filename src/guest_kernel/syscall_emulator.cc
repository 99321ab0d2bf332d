#include "guest_kernel/syscall_emulator.h"

#include <cstring>

#include "guest_kernel/calls/syscall_table.h"
#include "guest_kernel/state/call.h"
#include "syscalls/handlers.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

// Refusals that the guest's own call would get; other errors are about how we asked.
constexpr int guest_errors[] = {ENOENT,       ENOTDIR, ELOOP,  EACCES,
                                ENAMETOOLONG, EBADF,   ENOTTY, EINVAL};

SyscallOutcome emulate(const SyscallFacts* facts, SyscallCall& call) {
    if (!facts) return failure(ENOSYS);
    const auto handler = find_syscall_handler(*facts);
    if (!handler) return ends(SampleEnd::unsafe_syscall, std::string(facts->remark));
    return handler(call);
}

SyscallOutcome call_vdso(VdsoFunction function, SyscallCall& call) {
    switch (function) {
        case VdsoFunction::clock_gettime:
            return sys_clock_gettime(call);
        case VdsoFunction::gettimeofday:
            return sys_gettimeofday(call);
        case VdsoFunction::time:
            return sys_time(call);
        case VdsoFunction::clock_getres:
            return sys_clock_getres(call);
        case VdsoFunction::getcpu:
            return sys_getcpu(call);
    }
    return failure(ENOSYS);
}

}  // namespace

SyscallOutcome from_error(const Error& error) {
    if (error.code == ErrorCode::gone)
        return ends(SampleEnd::replica_lost, "the forked copy of the program is gone");
    for (int errno_value : guest_errors)
        if (error.code != ErrorCode::unsupported && error.sys_errno == errno_value)
            return failure(errno_value);
    bool says_why = error.code == ErrorCode::unsupported;
    return ends(SampleEnd::unsafe_syscall,
                says_why ? error.message : "what it would return could not be found out");
}

std::optional<SampleEnd> SyscallEmulator::on_syscall(GuestThreads& threads, GuestSpace& space,
                                                     std::uint64_t elapsed_ns) {
    auto& cpu = threads.cpu();
    state_.thread_index = threads.current();
    // The kernel uses the low 32 bits of the number.
    auto number = static_cast<std::uint32_t>(cpu[Gpr::rax]);
    const SyscallFacts* facts = find_syscall_facts(number);
    ++(facts ? counts_.by_number[number] : counts_.unknown);
    SyscallCall call{threads, cpu, space, state_, elapsed_ns};
    SyscallOutcome outcome = emulate(facts, call);
    if (outcome.end)
        end_reason_ = fmt::format("{}: {}", facts ? facts->name : "unknown", outcome.reason);
    else
        cpu[Gpr::rax] = static_cast<std::uint64_t>(outcome.value);
    return outcome.end;
}

std::optional<SampleEnd> SyscallEmulator::on_vdso(VdsoFunction function, GuestThreads& threads,
                                                  GuestSpace& space, std::uint64_t elapsed_ns) {
    auto& cpu = threads.cpu();
    state_.thread_index = threads.current();
    SyscallCall call{threads, cpu, space, state_, elapsed_ns};
    SyscallOutcome outcome = call_vdso(function, call);
    // Unlike the kernel, the vDSO's code faults on a bad address.
    if (!outcome.end && outcome.value == -EFAULT)
        outcome = ends(SampleEnd::fault, "a bad address given to the vDSO");
    if (outcome.end)
        end_reason_ = fmt::format("vDSO: {}", outcome.reason);
    else
        cpu[Gpr::rax] = static_cast<std::uint64_t>(outcome.value);
    return outcome.end;
}

SyscallOutcome sys_swallow(SyscallCall&) {
    return answer(0);
}

SyscallOutcome sys_no_such_call(SyscallCall&) {
    return failure(ENOSYS);
}

}  // namespace shadowprof
