// Signal dispositions, masks and stacks of the sample. No signal is ever delivered in a sample.
#include <signal.h>

#include <bit>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t mask_bytes = 8;
constexpr int last_signal = 64;
constexpr std::uint64_t min_stack_bytes = 2048;  // MINSIGSTKSZ

constexpr std::uint64_t bit_of(int signal) {
    return std::uint64_t{1} << (signal - 1);
}

constexpr std::uint64_t never_blocked = bit_of(SIGKILL) | bit_of(SIGSTOP);

Emulated<SignalAction> current_action(SyscallCall& call, int signal) {
    auto set = call.sample.process.signal_actions.find(signal);
    if (set != call.sample.process.signal_actions.end()) return set->second;
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (facts->caught_signals & bit_of(signal))
        return ends(SampleEnd::unsafe_syscall,
                    "asks for a signal handler that was set before the sample");
    bool ignored = (facts->ignored_signals & bit_of(signal)) != 0;
    return SignalAction{.handler = ignored ? std::bit_cast<std::uint64_t>(SIG_IGN) : 0};
}

Emulated<std::uint64_t> blocked_signals(SyscallCall& call) {
    if (call.sample.thread().blocked_signals) return *call.sample.thread().blocked_signals;
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    return facts->blocked_signals;
}

SyscallOutcome block_signals(SyscallCall& call, std::uint64_t blocked) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (facts->pending_signals & ~blocked & ~facts->ignored_signals)
        return ends(SampleEnd::unsafe_syscall, "a pending signal would be delivered");
    call.sample.thread().blocked_signals = blocked & ~never_blocked;
    return answer(0);
}

SyscallOutcome change_blocked(SyscallCall& call, int how, std::uint64_t now, std::uint64_t set) {
    switch (how) {
        case SIG_BLOCK:
            return block_signals(call, now | set);
        case SIG_UNBLOCK:
            return block_signals(call, now & ~set);
        case SIG_SETMASK:
            return block_signals(call, set);
        default:
            return failure(EINVAL);
    }
}

bool is_on_stack(const SyscallCall& call, const SignalStack& stack) {
    return call.cpu[Gpr::rsp] - stack.base - 1 < stack.size_bytes;
}

SyscallOutcome set_stack(SyscallCall& call, SignalStack stack) {
    auto mode = static_cast<std::uint32_t>(stack.flags) & ~(1u << 31);  // SS_AUTODISARM
    if (mode != 0 && mode != SS_DISABLE && mode != SS_ONSTACK) return failure(EINVAL);
    if (mode == SS_DISABLE)
        stack = {.flags = SS_DISABLE};
    else if (stack.size_bytes < min_stack_bytes)
        return failure(ENOMEM);
    call.sample.thread().signal_stack = stack;
    return answer(0);
}

}  // namespace

SyscallOutcome sys_rt_sigaction(SyscallCall& call) {
    int signal = call.int_arg(0);
    GuestAddress new_at = call.address(1), old_at = call.address(2);
    if (call.arg(3) != mask_bytes || signal < 1 || signal > last_signal) return failure(EINVAL);
    if (new_at.value != 0 && (never_blocked & bit_of(signal))) return failure(EINVAL);
    SignalAction wanted;
    if (new_at.value != 0) {
        TRY_ASSIGN(wanted, load<SignalAction>(call, new_at));
    }
    if (old_at.value != 0) {
        TRY_ASSIGN(SignalAction old, current_action(call, signal));
        if (!guest_store(call.space, old_at, old)) return failure(EFAULT);
    }
    wanted.mask &= ~never_blocked;
    if (new_at.value != 0) call.sample.process.signal_actions.insert_or_assign(signal, wanted);
    return answer(0);
}

SyscallOutcome sys_rt_sigprocmask(SyscallCall& call) {
    if (call.arg(3) != mask_bytes) return failure(EINVAL);
    TRY_ASSIGN(std::uint64_t now, blocked_signals(call));
    if (call.arg(1) != 0) {
        TRY_ASSIGN(auto set, load<std::uint64_t>(call, call.address(1)));
        auto changed = change_blocked(call, call.int_arg(0), now, set & ~never_blocked);
        if (changed.end || changed.value != 0) return changed;
    }
    return call.store_result(call.address(2), now);
}

SyscallOutcome sys_rt_sigpending(SyscallCall& call) {
    if (call.arg(1) > mask_bytes) return failure(EINVAL);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    TRY_ASSIGN(std::uint64_t blocked, blocked_signals(call));
    std::uint64_t pending = facts->pending_signals & blocked;
    auto bytes = std::as_bytes(std::span(&pending, 1)).first(call.arg(1));
    return call.space.write(call.address(0), bytes) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_sigaltstack(SyscallCall& call) {
    std::optional<SignalStack> wanted;
    if (call.arg(0) != 0) {
        TRY_ASSIGN(wanted, load<SignalStack>(call, call.address(0)));
    }
    const auto& known = call.sample.thread().signal_stack;
    if (call.arg(1) != 0 && !known)
        return ends(SampleEnd::unsafe_syscall,
                    "asks for a signal stack that was set before the sample");
    std::optional<SignalStack> old = known;
    if (old && old->flags != SS_DISABLE && is_on_stack(call, *old)) {
        if (wanted) return failure(EPERM);
        old->flags |= SS_ONSTACK;
    }
    if (wanted) {
        auto set = set_stack(call, *wanted);
        if (set.value != 0) return set;
    }
    return old ? call.store_result(call.address(1), *old) : answer(0);
}

}  // namespace shadowprof
