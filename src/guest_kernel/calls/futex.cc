// Threads of the sample that wait for each other. Threads that waited on a futex at snapshot time
// can be woken too; timeouts never expire.
#include "guest_kernel/calls/futex.h"

#include <linux/futex.h>

#include <algorithm>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr auto operation_mask = static_cast<std::uint32_t>(FUTEX_CMD_MASK);
constexpr std::uint32_t futex2_size_mask = 3, futex2_u32 = 2;

// Threads that waited at snapshot time are listed by index, as the order of their waits is not
// known. Their registers are still those of the call.
FutexQueue& waiters(SyscallCall& call) {
    auto& list = call.sample.futex_waiters;
    if (std::exchange(call.sample.futex_waiters_known, true)) return list;
    for (GuestThreads::Index i = 0; i < call.threads.size(); ++i) {
        if (!call.threads.waits(i)) continue;
        const CpuState& cpu = call.threads.cpu(i);
        const bool with_bits = (cpu[Gpr::rsi] & operation_mask) == FUTEX_WAIT_BITSET;
        const auto bits = with_bits ? static_cast<std::uint32_t>(cpu[Gpr::r9]) : any_futex_bits;
        list.push_back({{cpu[Gpr::rdi]}, bits, i});
    }
    return list;
}

Emulated<std::uint32_t> futex_word(SyscallCall& call) {
    if (call.arg(0) % sizeof(std::uint32_t) != 0) return failure(EINVAL);
    return load<std::uint32_t>(call, call.address(0));
}

SyscallOutcome wait_while_equal(SyscallCall& call, std::uint64_t expected, std::uint32_t bits) {
    if (bits == 0) return failure(EINVAL);
    TRY_ASSIGN(std::uint32_t word, futex_word(call));
    if (word != expected) return failure(EAGAIN);
    if (call.threads.size() == 1) return ends(SampleEnd::idle, "waits on a futex");
    waiters(call).push_back({call.address(0), bits, call.threads.current()});
    call.threads.wait();
    return answer(0);
}

// Wakes some waiters, and lets some others wait on another futex.
SyscallOutcome requeue(SyscallCall& call) {
    const auto woken = wake_futex(call, call.address(0), call.uint_arg(2));
    return answer(woken +
                  move_waiters(waiters(call), call.address(0), call.address(4), call.uint_arg(3)));
}

SyscallOutcome requeue_if_equal(SyscallCall& call) {
    TRY_ASSIGN(std::uint32_t word, futex_word(call));
    return word == call.uint_arg(5) ? requeue(call) : failure(EAGAIN);
}

}  // namespace

std::uint32_t wake_futex(SyscallCall& call, GuestAddress address, std::uint64_t most,
                         std::uint32_t bits) {
    return wake_waiters(waiters(call), address, most, bits, call.threads);
}

void wake_joiners(SyscallCall& call, std::int32_t ended_tid) {
    const auto& list = waiters(call);
    const auto joiner = std::ranges::find_if(list, [&](const FutexWaiter& waiter) {
        return read_value<std::int32_t>(call.space, waiter.address) == ended_tid;
    });
    if (joiner == list.end()) return;
    const auto address = joiner->address;
    if (guest_store(call.space, address, std::int32_t{0})) wake_futex(call, address, 1);
}

SyscallOutcome sys_futex(SyscallCall& call) {
    switch (call.uint_arg(1) & operation_mask) {
        case FUTEX_WAIT:
            return wait_while_equal(call, call.uint_arg(2), any_futex_bits);
        case FUTEX_WAIT_BITSET:
            return wait_while_equal(call, call.uint_arg(2), call.uint_arg(5));
        case FUTEX_WAKE:
            return answer(wake_futex(call, call.address(0), call.uint_arg(2)));
        case FUTEX_WAKE_BITSET:
            if (call.uint_arg(5) == 0) return failure(EINVAL);
            return answer(wake_futex(call, call.address(0), call.uint_arg(2), call.uint_arg(5)));
        case FUTEX_REQUEUE:
            return requeue(call);
        case FUTEX_CMP_REQUEUE:
            return requeue_if_equal(call);
        default:
            return ends(SampleEnd::unsafe_syscall, "a futex operation that is not emulated");
    }
}

SyscallOutcome sys_futex_wait(SyscallCall& call) {
    if ((call.uint_arg(3) & futex2_size_mask) != futex2_u32)
        return ends(SampleEnd::unsafe_syscall, "a futex of another size than 32 bits");
    return wait_while_equal(call, call.arg(1), call.uint_arg(2));
}

SyscallOutcome sys_futex_wake(SyscallCall& call) {
    if ((call.uint_arg(3) & futex2_size_mask) != futex2_u32)
        return ends(SampleEnd::unsafe_syscall, "a futex of another size than 32 bits");
    return answer(wake_futex(call, call.address(0), call.arg(2), call.uint_arg(1)));
}

}  // namespace shadowprof
