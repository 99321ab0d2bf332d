#include "ptrace/remote/remote_syscall.h"

#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/remote/syscall_site.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/seccomp_state.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

Error unsupported(std::string_view reason) {
    return {ErrorCode::unsupported, 0, std::string(reason)};
}

Result<void> set_options(pid_t tid, std::uint64_t options) {
    TRY(ptrace_call(PTRACE_SETOPTIONS, tid, 0, options, "set ptrace options"));
    return {};
}

// The leader is now in a program that another thread has executed. It is not the thread that was
// borrowed, so nothing must be restored.
Result<void> check_program(const WaitStatus& status) {
    if (!status.is_event(PTRACE_EVENT_EXEC)) return {};
    return Error{ErrorCode::gone, ESRCH, "another thread has executed a program"};
}

}  // namespace

Result<RemoteSyscall> RemoteSyscall::begin(StoppedThread& thread, GuestAddress instruction,
                                           std::uint64_t ptrace_options) {
    return begin_at(thread, {instruction, std::nullopt}, ptrace_options);
}

std::vector<StoppedThread*> RemoteSyscall::threads_to_borrow(std::span<StoppedThread> stopped) {
    std::vector<StoppedThread*> threads;
    for (StoppedThread& thread : stopped) threads.push_back(&thread);
    if (threads.size() < 2) return threads;
    if (const auto map = read_memory_map(threads.front()->tid()))
        std::stable_partition(threads.begin(), threads.end(), [&](const StoppedThread* thread) {
            return WayHome::finds_stack(*thread, *map);
        });
    return threads;
}

Result<RemoteSyscall> RemoteSyscall::borrow(StoppedThread& thread, GuestAddress instruction,
                                            const std::optional<ReturnCode>& return_code,
                                            std::uint64_t ptrace_options) {
    SyscallInstruction place{instruction, std::nullopt};
    if (return_code) {
        if (auto way_home = WayHome::lay(thread, *return_code)) {
            place.instruction = way_home->call();
            place.way_home.emplace(std::move(*way_home));
        }
    }
    return begin_at(thread, std::move(place), ptrace_options);
}

Result<RemoteSyscall> RemoteSyscall::begin_at(StoppedThread& thread, SyscallInstruction place,
                                              std::uint64_t ptrace_options) {
    if (!thread.status().is_trap())
        return unsupported(
            "the thread was stopped where it can make no system call for shadowprof");
    ProcessMemory memory(thread.tid());
    if (!is_syscall_instruction(memory, place.instruction))
        return unsupported("the SYSCALL instruction that shadowprof used in the program is gone");
    TRY_ASSIGN(const auto saved, thread.registers());
    TRY_ASSIGN(const bool restartable, in_restartable_sequence(thread, saved.rip));
    if (restartable) return unsupported("the thread is inside a restartable sequence");
    TRY_ASSIGN(const std::uint64_t mask, thread.signal_mask());
    TRY_ASSIGN(const bool suspended, suspend_seccomp(thread.tid(), ptrace_options));
    RemoteSyscall session(thread, std::move(place), saved, mask, ptrace_options, suspended);
    // Enters the way home before the signal mask changes.
    if (session.has_way_home()) {
        user_regs_struct on_the_way = session.for_call(no_syscall, {});
        on_the_way.rip = session.way_home_->return_instruction().value;
        TRY(thread.set_registers(on_the_way));
    }
    TRY(thread.set_signal_mask(injected_call_mask));
    return session;
}

RemoteSyscall::RemoteSyscall(RemoteSyscall&& other) noexcept
    : thread_(std::exchange(other.thread_, nullptr)),
      instruction_(other.instruction_),
      way_home_(std::move(other.way_home_)),
      saved_(other.saved_),
      saved_mask_(other.saved_mask_),
      ptrace_options_(other.ptrace_options_),
      seccomp_suspended_(other.seccomp_suspended_) {}

Result<std::int64_t> RemoteSyscall::call(std::uint64_t number,
                                         std::array<std::uint64_t, 6> arguments, Limit limit) {
    TRY(enter(number, arguments));
    TRY_ASSIGN(WaitStatus status, run_to_report(limit));
    while (status.kind() != WaitStatus::Kind::syscall_stop) {
        TRY_ASSIGN(status, run_to_report(limit));
    }
    TRY_ASSIGN(const auto registers, thread_->registers());
    return static_cast<std::int64_t>(registers.rax);
}

Result<RemoteSyscall::Clone> RemoteSyscall::clone(std::uint64_t flags) {
    if (way_home_)
        TRY(enter(SYS_clone, {flags | CLONE_PARENT_SETTID, way_home_->child_stack().value,
                              way_home_->child_id().value}));
    else
        TRY(enter(SYS_clone, {flags, unmapped_address}));
    Clone clone;
    TRY_ASSIGN(const WaitStatus status, run_to_report());
    if (status.is_event(PTRACE_EVENT_CLONE)) {
        TRY_ASSIGN(const std::uint64_t child, thread_->event_message());
        clone.child = static_cast<pid_t>(child);
        // Brings the thread from inside the call straight to the trap behind it.
        if (const auto settled = thread_->settle(); !settled) {
            ::kill(clone.child, SIGKILL);
            return settled.error();
        }
    }
    TRY_ASSIGN(const auto registers, thread_->registers());
    clone.result = static_cast<std::int64_t>(registers.rax);
    return clone;
}

Result<void> RemoteSyscall::finish() {
    if (!thread_) return {};
    StoppedThread& thread = *std::exchange(thread_, nullptr);
    // Restored behind a system call, the registers would not make the kernel restart the thread's
    // own call. In a trap they do.
    TRY(thread.settle());
    TRY(check_program(thread.status()));
    // The registers are restored last: once they are right, everything is.
    TRY(thread.set_signal_mask(saved_mask_));
    TRY(thread.set_registers(saved_));
    if (seccomp_suspended_) TRY(set_options(thread.tid(), ptrace_options_));
    way_home_.reset();
    return {};
}

// Returns the thread's registers before a call. In a syscall-stop, the kernel has nothing left to
// restart.
user_regs_struct RemoteSyscall::for_call(std::uint64_t number,
                                         const std::array<std::uint64_t, 6>& arguments) const {
    user_regs_struct registers = saved_;
    registers.rip = instruction_.value;
    registers.rax = number;
    registers.orig_rax = no_syscall;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    registers.r8 = arguments[4];
    registers.r9 = arguments[5];
    registers.eflags &= ~trap_flag;  // the target's own single-step must not apply
    for (auto* scratch : {&registers.rbx, &registers.rbp, &registers.rcx, &registers.r11,
                          &registers.r12, &registers.r13, &registers.r14, &registers.r15})
        *scratch = unmapped_address;
    if (way_home_) registers.rsp = way_home_->stack().value;
    return registers;
}

// Runs the thread to the entry of the call.
Result<void> RemoteSyscall::enter(std::uint64_t number,
                                  const std::array<std::uint64_t, 6>& arguments) {
    TRY(thread_->set_registers(for_call(number, arguments)));
    TRY_ASSIGN(const WaitStatus status, run_to_report());
    if (status.kind() == WaitStatus::Kind::syscall_stop) return {};
    return Error{ErrorCode::system, 0,
                 fmt::format("thread {} {} instead of entering a system call", thread_->tid(),
                             status.describe())};
}

// Runs to the next stop that is not caused by the target itself. A SIGSTOP of the target takes
// effect: the thread is in its group stop after the session.
Result<WaitStatus> RemoteSyscall::run_to_report(Limit limit) {
    for (int signal = 0;;) {
        TRY_ASSIGN(const WaitStatus status, advance(signal, limit));
        if (const auto same = check_program(status); !same) {
            thread_ = nullptr;
            return same.error();
        }
        const bool own_signal = status.kind() == WaitStatus::Kind::signal_stop;
        if (!own_signal && !status.is_trap()) return status;
        signal = own_signal ? status.signal() : 0;
    }
}

Result<WaitStatus> RemoteSyscall::advance(int signal, Limit limit) {
    constexpr auto how = StoppedThread::Advance::to_syscall;
    if (!limit) return thread_->advance(how, signal);
    TRY(thread_->set_off(how, signal));
    TRY_ASSIGN(const bool has_stopped, thread_->has_stopped(*limit));
    if (has_stopped) return thread_->status();
    thread_ = nullptr;
    return Error{ErrorCode::permission, 0, "the system call takes too long"};
}

}  // namespace shadowprof
