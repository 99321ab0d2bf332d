// Threads that start and end within the sample. Processes are not started.
#include <linux/sched.h>
#include <sched.h>

#include <algorithm>

#include "guest_kernel/calls/futex.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

// struct clone_args of linux/sched.h; clone(2) has arguments of the same names.
struct CloneArguments {
    std::uint64_t flags = 0, pidfd = 0, child_tid = 0, parent_tid = 0, exit_signal = 0;
    std::uint64_t stack = 0, stack_bytes = 0, tls = 0;
};
constexpr std::uint64_t max_clone_bytes = 4096;

constexpr std::uint64_t of_a_thread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
constexpr std::uint64_t understood = of_a_thread | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                     CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
                                     CLONE_CHILD_CLEARTID | CLONE_DETACHED;
// Beyond the ids that the kernel assigns (PID_MAX_LIMIT), so that no thread of the program has it.
constexpr std::int32_t first_new_tid = 4 << 20;

// The state that a thread inherits from the one that makes the call.
ThreadState inherited(const ThreadState& parent, std::int32_t tid) {
    ThreadState state = parent;
    state.facts->tid = tid;
    state.signal_stack = SignalStack{.flags = 2 /* SS_DISABLE */};
    state.cleared_at_exit = GuestAddress{};
    state.rseq_registered = false;
    return state;
}

SyscallOutcome start_thread(SyscallCall& call, const CloneArguments& arguments,
                            std::uint64_t stack_pointer) {
    if ((arguments.flags & of_a_thread) != of_a_thread)
        return ends(SampleEnd::unsafe_syscall, "starts a process");
    if (arguments.flags & ~understood)
        return ends(SampleEnd::unsafe_syscall, "starts a thread with flags that are not emulated");
    TRY(call.sample.facts());
    TRY(call.sample.clocks());
    CpuState cpu = call.cpu;
    cpu[Gpr::rax] = 0;
    if (stack_pointer != 0) cpu[Gpr::rsp] = stack_pointer;
    if (arguments.flags & CLONE_SETTLS) cpu.fs_base = arguments.tls;
    const auto tid = first_new_tid + call.sample.new_threads;
    if (call.sample.rules.follows_new_threads) {
        const auto index = call.threads.add(cpu, true);
        if (!index) return failure(EAGAIN);
        auto state = inherited(call.sample.thread(), tid);
        state.clocks->ns[CLOCK_THREAD_CPUTIME_ID] = 0;
        if (arguments.flags & CLONE_CHILD_CLEARTID) state.cleared_at_exit = {arguments.child_tid};
        call.sample.threads.insert_or_assign(*index, state);
    }
    ++call.sample.new_threads;
    if (arguments.flags & CLONE_PARENT_SETTID)
        (void)guest_store(call.space, {arguments.parent_tid}, tid);
    if (arguments.flags & CLONE_CHILD_SETTID)
        (void)guest_store(call.space, {arguments.child_tid}, tid);
    return answer(tid);
}

}  // namespace

SyscallOutcome sys_clone(SyscallCall& call) {
    return start_thread(call,
                        {.flags = call.arg(0) & ~std::uint64_t{CSIGNAL},
                         .child_tid = call.arg(3),
                         .parent_tid = call.arg(2),
                         .tls = call.arg(4)},
                        call.arg(1));
}

SyscallOutcome sys_clone3(SyscallCall& call) {
    if (call.arg(1) < sizeof(CloneArguments)) return failure(EINVAL);
    if (call.arg(1) > max_clone_bytes) return failure(E2BIG);
    TRY_ASSIGN(auto arguments, load<CloneArguments>(call, call.address(0)));
    return start_thread(call, arguments, arguments.stack + arguments.stack_bytes);
}

SyscallOutcome sys_exit(SyscallCall& call) {
    if (call.threads.size() == 1) return ends(SampleEnd::exit, "the thread ends");
    const auto word = call.sample.thread().cleared_at_exit;
    if (!word) {
        TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
        wake_joiners(call, facts->tid);
    } else if (word->value != 0 && guest_store(call.space, *word, std::int32_t{0})) {
        wake_futex(call, *word, 1);
    }
    call.threads.stop(SampleEnd::exit);
    return answer(0);
}

SyscallOutcome sys_exit_group(SyscallCall&) {
    return ends(SampleEnd::exit, "the program ends");
}

SyscallOutcome sys_sched_yield(SyscallCall& call) {
    call.threads.yield();
    return answer(0);
}

SyscallOutcome sys_set_tid_address(SyscallCall& call) {
    call.sample.thread().cleared_at_exit = call.address(0);
    return sys_gettid(call);
}

}  // namespace shadowprof
