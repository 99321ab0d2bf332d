#include "shadow/exact/process/native_run.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/cpu_state.h"
#include "decoder/decode_at.h"
#include "decoder/instruction.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/breakpoint.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/exact/process/processor_timers.h"
#include "syscalls/call_memory.h"

namespace shadowprof {
namespace {

using Kind = WaitStatus::Kind;

// How much stack a vDSO function may use.
constexpr std::uint64_t vdso_stack_bytes = 4096;
// How much a vDSO function writes at each pointer that it is given: struct timespec or less.
constexpr std::uint64_t vdso_result_bytes = 16;

constexpr std::array birth_events = {PTRACE_EVENT_CLONE, PTRACE_EVENT_FORK, PTRACE_EVENT_VFORK};

// INT 3 raises the same trap as INT3 (Intel SDM vol. 3, 6.3.1).
constexpr std::uint64_t breakpoint_vector = 3;

// How often to look whether a thread that is busy in the kernel has gone to sleep.
constexpr std::chrono::microseconds look_at_busy_thread{50};

bool is_birth(const WaitStatus& status) {
    return std::ranges::any_of(birth_events, [&](int event) { return status.is_event(event); });
}

// Whether a call is about to begin again.
bool is_restart(const user_regs_struct& registers) {
    const auto result = static_cast<std::int64_t>(registers.rax);
    return static_cast<std::int64_t>(registers.orig_rax) >= 0 && restart_by_kernel <= result &&
           result <= restart_after_handler;
}

// Where a signal's frame ends that begins at `frame`: behind the extended state, of which the
// kernel says the size (arch/x86/include/asm/sigframe.h, struct _fpx_sw_bytes in asm/sigcontext.h).
GuestAddress end_of_signal_frame(GuestAddress frame, MemoryReader& memory) {
    constexpr std::uint64_t state_pointer_at = 232, frame_bytes = 440;
    constexpr std::uint64_t description_at = 464, plain_state_bytes = 512;
    constexpr std::uint32_t magic = 0x46505853;
    struct Description {
        std::uint32_t magic, state_bytes;
    };
    const auto state = read_value<std::uint64_t>(memory, frame + state_pointer_at);
    if (!state || *state < frame.value) return frame + frame_bytes;
    const auto found = read_value<Description>(memory, {*state + description_at});
    const bool is_described = found && found->magic == magic;
    const auto bytes = is_described && found->state_bytes <= max_xstate_bytes
                           ? std::uint64_t{found->state_bytes}
                           : plain_state_bytes;
    return GuestAddress{*state} + bytes;
}

// What a call returns that a signal has interrupted, by the frame of its handler (struct
// rt_sigframe, struct sigcontext). Nothing if the call begins again behind the handler.
std::optional<std::uint64_t> result_in_signal_frame(GuestAddress frame, std::uint64_t behind_call,
                                                    MemoryReader& memory) {
    constexpr std::uint64_t rax_at = 152, rip_at = 176;
    const auto rip = read_value<std::uint64_t>(memory, frame + rip_at);
    if (!rip || *rip != behind_call) return std::nullopt;
    return read_value<std::uint64_t>(memory, frame + rax_at);
}

// Whether the call may set a timer of processor time.
bool sets_processor_timer(const PassedSyscall& call) {
    const auto kind = static_cast<std::int32_t>(call.arguments[0]);
    switch (call.number) {
        case SYS_setitimer:
            return kind == ITIMER_VIRTUAL || kind == ITIMER_PROF;
        case SYS_timer_create:
            return is_processor_clock(kind);
        default:
            return false;
    }
}

bool limits_processor_time(const PassedSyscall& call) {
    return (call.number == SYS_setrlimit && call.arguments[0] == RLIMIT_CPU) ||
           (call.number == SYS_prlimit64 && call.arguments[1] == RLIMIT_CPU &&
            call.arguments[2] != 0);
}

// Whether the instruction raises SIGTRAP itself, whether it is stepped or not: INT3 and INT1.
bool raises_trap(pid_t tid, GuestAddress at) {
    ProcessMemory memory(tid);
    const auto in = decode_at(memory, at);
    if (!in) return false;
    const bool is_numbered =
        in->mnemonic() == ZYDIS_MNEMONIC_INT && in->operands()[0].imm.value.u == breakpoint_vector;
    return is_numbered || in->mnemonic() == ZYDIS_MNEMONIC_INT3 ||
           in->mnemonic() == ZYDIS_MNEMONIC_INT1;
}

// The result is the child's id, which says nothing in another PID namespace than ours.
bool may_bear_sharer(const PassedSyscall& call) {
    return (call.number == SYS_clone || call.number == SYS_clone3) &&
           static_cast<std::int64_t>(call.result) > 0;
}

// Whether the call has given memory a key of its own. By PKRU the program can then deny itself
// accesses (pkeys(7)). The emulator would allow them, so the program is followed no further.
bool gives_protection_key(const PassedSyscall& call) {
    return call.number == SYS_pkey_mprotect && static_cast<int>(call.arguments[3]) > 0 &&
           call.result == 0;
}

}  // namespace

Result<WaitStatus> NativeRun::advance(Advance how) {
    own_trap_ = false;
    return thread_.advance(how);
}

// Our step or breakpoint raises SIGTRAP. If the program ignores SIGTRAP, the trap is dropped, but
// the thread stands still all the same. A trap of the program's own needs no step, and kills it if
// it blocks or ignores SIGTRAP.
Result<WaitStatus> NativeRun::step() {
    TRY_ASSIGN(const auto before, thread_.registers());
    if (raises_trap(thread_.tid(), {before.rip})) return advance(Advance::run);
    TRY(traps_.open());
    own_trap_ = false;
    TRY_ASSIGN(const auto stop, shadowprof::step(thread_));
    TRY(traps_.close());
    own_trap_ = stop.is_there;
    if (own_trap_) TRY(traps_.repair());
    return stop.status;
}

Result<WaitStatus> NativeRun::advance_to(Breakpoint& breakpoint, Advance how) {
    TRY(traps_.open());
    own_trap_ = false;
    TRY_ASSIGN(const auto stop, breakpoint.advance(how));
    TRY(traps_.close());
    own_trap_ = stop.is_there;
    if (own_trap_) TRY(traps_.repair());
    return stop.status;
}

Result<Breakpoint> NativeRun::set_breakpoint(GuestAddress address) {
    if (breakpoints_ == BreakpointKind::instruction && has_memory_sharer())
        return Error{ErrorCode::unsupported, 0,
                     "hardware breakpoints do not work on this machine, and others would hit a "
                     "child that runs in the same memory"};
    return Breakpoint::set(thread_, address, breakpoints_);
}

Result<bool> NativeRun::at_foreign_step() const {
    const auto& status = thread_.status();
    if (own_trap_ || status.kind() != Kind::signal_stop || status.signal() != SIGTRAP) return false;
    TRY_ASSIGN(const auto info, thread_.signal_info());
    return info.si_code == TRAP_TRACE;
}

// Whether the instruction that the thread stands at has raised the signal.
Result<bool> NativeRun::is_synchronous() const {
    constexpr std::array signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    TRY_ASSIGN(const auto info, thread_.signal_info());
    return info.si_code > 0 &&
           std::find(signals.begin(), signals.end(), info.si_signo) != signals.end();
}

Result<void> NativeRun::hold() {
    TRY_ASSIGN(const auto info, thread_.signal_info());
    hold(info);
    return {};
}

void NativeRun::hold(const siginfo_t& info) {
    // As in the kernel, a standard signal is held only once.
    const bool waits = std::any_of(held_.begin(), held_.end(), [&](const siginfo_t& other) {
        return other.si_signo == info.si_signo && info.si_signo < first_real_time_signal;
    });
    if (!waits) held_.push_back(info);
    ++signals_held_;
}

// Holds the signal of a signal stop unless the instruction itself has raised it.
Result<bool> NativeRun::hold_if_from_outside() {
    TRY_ASSIGN(const bool synchronous, is_synchronous());
    if (!synchronous) TRY(hold());
    return !synchronous;
}

Result<bool> NativeRun::run_to(const Stop& expected) {
    while (true) {
        TRY_ASSIGN(const auto status, advance(Advance::to_syscall));
        if (status.kind() == Kind::syscall_stop) return expected.kind == Stop::Kind::syscall;
        if (status.kind() != Kind::signal_stop) continue;
        TRY_ASSIGN(const bool held, hold_if_from_outside());
        if (held) continue;
        TRY_ASSIGN(const auto now, thread_.registers());
        return expected.kind == Stop::Kind::fault && now.rip == expected.address.value &&
               status.signal() == expected.signal;
    }
}

Result<bool> NativeRun::run_to(Breakpoint& breakpoint) {
    while (true) {
        TRY_ASSIGN(const auto status, advance_to(breakpoint, Advance::to_syscall));
        if (own_trap_) return true;
        if (status.kind() == Kind::syscall_stop) return false;
        if (status.kind() != Kind::signal_stop) continue;
        TRY_ASSIGN(const bool held, hold_if_from_outside());
        if (!held) return false;
    }
}

Result<bool> NativeRun::has_signal() const {
    if (!held_.empty()) return true;
    return is_pending();
}

Result<bool> NativeRun::is_pending() const {
    TRY_ASSIGN(const bool queued, thread_.has_queued_signal());
    if (!queued) return false;
    TRY_ASSIGN(const auto status, read_proc_status(thread_.tid()));
    return (status.pending_signals & ~status.blocked_signals) != 0;
}

// The signals become pending again; deliver_one() restores what was known of them.
void NativeRun::raise_held() {
    for (const auto& info : held_) syscall(SYS_tgkill, target_.pid(), thread_.tid(), info.si_signo);
}

Result<void> NativeRun::make_state_true() {
    if (!true_state_) return {};
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto regset, thread_.extended_state(buffer));
    TRY(store_extended(*true_state_, regset));
    return thread_.set_extended_state(regset);
}

Result<void> NativeRun::deliver_one(Passage& passage) {
    ++signals_delivered_;
    const int signal = thread_.status().signal();
    TRY(restart_interrupted_call(thread_, restarted_));
    const auto info = std::find_if(held_.begin(), held_.end(),
                                   [&](const siginfo_t& i) { return i.si_signo == signal; });
    // A fault may have the number of a signal that is held.
    TRY_ASSIGN(const bool synchronous, is_synchronous());
    if (info != held_.end() && !synchronous) {
        TRY(thread_.set_signal_info(*info));
        held_.erase(info);
    }
    TRY_ASSIGN(const auto before, thread_.registers());
    TRY(make_state_true());
    TRY(thread_.settle());
    TRY_ASSIGN(const auto after, thread_.registers());
    if (after.rsp == before.rsp) return {};
    passage.jumped = true;
    ProcessMemory memory(thread_.tid());
    passage.writes.ranges.push_back({{after.rsp}, end_of_signal_frame({after.rsp}, memory)});
    return {};
}

Result<void> NativeRun::deliver_pending(Passage& passage) {
    while (true) {
        TRY_ASSIGN(const bool pending, is_pending());
        if (!pending) break;
        TRY_ASSIGN(const auto stop, advance(Advance::run));
        if (stop.kind() == Kind::signal_stop) TRY(deliver_one(passage));
    }
    // Signals that are blocked now wait in the kernel.
    held_.clear();
    return {};
}

Result<void> NativeRun::deliver_waiting(Passage& passage) {
    signals_held_ -= held_.size();
    raise_held();
    const auto before = signals_delivered_;
    TRY(deliver_pending(passage));
    signals_held_ += signals_delivered_ - before;
    return {};
}

Result<void> NativeRun::deliver_held(Passage& passage) {
    if (held_.empty()) return {};
    raise_held();
    return deliver_pending(passage);
}

// Signals that came before the call must be delivered before it, as a handler may wait for the
// child that the call would wait for. The call is left, and is made when the handler has returned.
Result<Passage> NativeRun::leave_syscall() {
    Passage passage;
    TRY_ASSIGN(auto registers, thread_.registers());
    registers.rip -= syscall_instruction_bytes;
    registers.rax = registers.orig_rax;
    registers.orig_rax = no_syscall;
    TRY(thread_.set_registers(registers));
    TRY(advance(Advance::to_syscall));
    passage.jumped = true;
    TRY(deliver_held(passage));
    return passage;
}

// The kernel reports a child that will not send SIGCHLD like a thread.
Result<void> NativeRun::take_birth() {
    auto& passage = entered_.passage;
    TRY_ASSIGN(const auto message, thread_.event_message());
    const auto born = static_cast<pid_t>(message);
    const bool is_thread = is_thread_of(target_.pid(), born);
    if (is_thread && entered_.manner.follows_threads) {
        passage.born = born;
        return {};
    }
    if (!is_thread && entered_.manner.follows_children) {
        entered_.waits_for_child = thread_.status().is_event(PTRACE_EVENT_VFORK);
        children_.push_back({born, entered_.waits_for_child});
        return {};
    }
    if (is_thread) passage.blocked = "it started a second thread";
    // In the hub the target finds the thread and can let it go.
    const auto status = target_.hub().wait_for(born);
    if (status && is_thread) target_.hub().put_back({born, *status});
    if (status && !is_thread)
        static_cast<void>(StoppedThread(target_.hub(), born, *status).detach());
    return {};
}

// Leads the thread from the exit of a system call, which may have to begin again, to where the call
// has a result or a handler runs. Returns the call's result, in whose place a handler begins with
// another value.
Result<NativeRun::CallResult> NativeRun::finish_call(Passage& passage) {
    while (true) {
        TRY_ASSIGN(const auto at_exit, thread_.registers());
        TRY(deliver_pending(passage));
        TRY_ASSIGN(const auto now, thread_.registers());
        if (!is_restart(now)) return result_of_call(at_exit, now, passage);
        TRY(enter_call_again(passage));
    }
}

// `at_exit` are the registers at the exit, or within a handler that came before the call began
// again. `now` are those behind all signals.
NativeRun::CallResult NativeRun::result_of_call(const user_regs_struct& at_exit,
                                                const user_regs_struct& now,
                                                const Passage& passage) const {
    const auto behind_call = entered_.behind_call;
    if (at_exit.rip == behind_call && !is_restart(at_exit)) return at_exit.rax;
    const auto& frames = passage.writes.ranges;
    if (!passage.jumped || frames.empty()) return now.rax;
    // The first handler was entered from the call, and any other from that one.
    ProcessMemory memory(thread_.tid());
    return result_in_signal_frame(frames.front().start, behind_call, memory);
}

// As finish_call(), but a call that must begin again is not made.
Result<NativeRun::CallResult> NativeRun::finish_call_outside(Passage& passage) {
    TRY_ASSIGN(const auto at_exit, thread_.registers());
    TRY(deliver_pending(passage));
    TRY_ASSIGN(auto now, thread_.registers());
    if (!is_restart(now)) return result_of_call(at_exit, now, passage);
    const bool by_kernel = static_cast<std::int64_t>(now.rax) == restart_by_kernel;
    now.rip -= syscall_instruction_bytes;
    now.rax = by_kernel ? std::uint64_t{SYS_restart_syscall} : now.orig_rax;
    now.orig_rax = no_syscall;
    TRY(thread_.set_registers(now));
    TRY(make_state_true());
    passage.jumped = true;
    return CallResult();
}

// Leads the thread to the next exit of a system call that begins again. A signal that comes before
// its entry is delivered. If a handler runs for it, the call begins after the handler, and nothing
// more is done.
Result<void> NativeRun::enter_call_again(Passage& passage) {
    for (int syscall_stops = 0; syscall_stops < 2;) {
        TRY_ASSIGN(const auto status, advance(Advance::to_syscall));
        if (status.kind() == Kind::syscall_stop) ++syscall_stops;
        if (is_birth(status)) TRY(take_birth());
        if (status.kind() != Kind::signal_stop) continue;
        TRY(deliver_one(passage));
        TRY_ASSIGN(const auto now, thread_.registers());
        if (!is_restart(now)) return {};
    }
    return {};
}

bool NativeRun::has_memory_sharer() {
    std::erase_if(memory_sharers_, [this](pid_t child) {
        return !have_same_memory(target_.pid(), child).value_or(false);
    });
    return !memory_sharers_.empty();
}

Result<Passage> NativeRun::pass_syscall(const CallManner& manner) {
    if (!held_.empty() && manner.handlers_first) return leave_syscall();
    TRY(enter_syscall(manner));
    while (true) {
        TRY(thread_.await_stop());
        TRY_ASSIGN(const bool there, take_stop_in_call());
        if (there) return leave_syscall_behind();
    }
}

Result<void> NativeRun::enter_syscall(const CallManner& manner) {
    raise_held();
    TRY_ASSIGN(const auto entry, thread_.registers());
    entered_ = {.manner = manner,
                .call = entered_call(entry),
                .behind_call = entry.rip,
                .needed = {},
                .passage = {}};
    ProcessMemory memory(thread_.tid());
    if (manner.names_writes) entered_.needed = needed_memory(entered_.call, memory);
    own_trap_ = false;
    return thread_.set_off(Advance::to_syscall);
}

// Sees to the stop of a thread that is in a call. If that is not the call's exit, it goes on.
Result<bool> NativeRun::take_stop_in_call() {
    const auto& status = thread_.status();
    auto& passage = entered_.passage;
    if (status.kind() == Kind::syscall_stop) return true;
    if (status.is_event(PTRACE_EVENT_EXEC)) passage.executed = true;
    if (is_birth(status)) TRY(take_birth());
    if (status.kind() == Kind::signal_stop) TRY(deliver_one(passage));
    // A stopped process stays so.
    TRY(thread_.resume(0, Advance::to_syscall));
    return false;
}

Result<bool> NativeRun::goes_to_exit() {
    while (true) {
        // On the thread's own processor, this lets it make the call.
        sched_yield();
        TRY_ASSIGN(bool stopped, thread_.has_stopped());
        while (!stopped) {
            const auto state = read_thread_state(target_.pid(), thread_.tid()).value_or('X');
            if (state == 'Z') return Error{ErrorCode::gone, ESRCH, "the thread has ended"};
            const bool is_stopped = state == 'T' || state == 't';
            const bool sleeps = state == 'S' || is_stopped || entered_.waits_for_child;
            TRY_ASSIGN(stopped, thread_.has_stopped(sleeps ? std::chrono::microseconds{}
                                                           : look_at_busy_thread));
            if (!stopped && sleeps) return false;
        }
        TRY_ASSIGN(const bool there, take_stop_in_call());
        if (there) return true;
    }
}

// The kernel reports the end of a first thread only when the ends of all others were reported.
bool NativeRun::has_ended_unreported() const {
    return thread_.tid() == target_.pid() &&
           read_thread_state(target_.pid(), thread_.tid()).value_or('X') == 'Z';
}

Result<bool> NativeRun::has_come_to_exit() {
    TRY_ASSIGN(const bool stopped, thread_.has_stopped());
    if (!stopped && has_ended_unreported())
        return Error{ErrorCode::gone, ESRCH, "the first thread has ended"};
    if (!stopped) return false;
    TRY_ASSIGN(const bool there, take_stop_in_call());
    return there ? Result<bool>(true) : goes_to_exit();
}

Result<Passage> NativeRun::leave_syscall_behind() {
    auto& [manner, call, behind_call, needed, passage, waits_for_child] = entered_;
    if (!passage.blocked.empty()) return std::move(passage);
    // The thread now has the state of the frame, or of a new program.
    if (call.number == SYS_rt_sigreturn || passage.executed) true_state_ = nullptr;
    TRY_ASSIGN(const auto result,
               manner.restarts_outside ? finish_call_outside(passage) : finish_call(passage));
    call.result = result.value_or(static_cast<std::uint64_t>(-EINTR));
    if (call.number != SYS_rt_sigreturn) passage.result = result;
    if (call.number == SYS_rt_sigaction) traps_.forget();
    awaits_processor_time_ |= sets_processor_timer(call) || limits_processor_time(call);
    if (passage.born == 0 && may_bear_sharer(call))
        memory_sharers_.push_back(static_cast<pid_t>(call.result));
    if (manner.names_writes) {
        ProcessMemory memory(thread_.tid());
        auto writes = writes_of(call, needed, memory);
        writes.ranges.insert(writes.ranges.end(), passage.writes.ranges.begin(),
                             passage.writes.ranges.end());
        passage.writes = std::move(writes);
    } else {
        passage.writes.layout = may_change_layout(call.number);
    }
    passage.jumped |= call.number == SYS_rt_sigreturn;
    if (gives_protection_key(call)) passage.blocked = "its memory has protection keys";
    if (passage.executed) {
        const auto kind = read_exe_kind(target_.pid());
        const bool may_read = kind || kind.error().code != ErrorCode::permission;
        if (may_read && !kind) return kind.error();
        if (!may_read)
            passage.blocked = "it executed a program that shadowprof may not read";
        else if (*kind != ProgramKind::elf_x86_64)
            passage.blocked = "it executed a program that is not for x86-64";
    }
    return std::move(passage);
}

Result<Passage> NativeRun::pass_vdso_call() {
    Passage passage;
    TRY_ASSIGN(const auto entry, thread_.registers());
    ProcessMemory memory(thread_.tid());
    const auto return_address = read_value<std::uint64_t>(memory, {entry.rsp});
    if (!return_address) {
        passage.blocked = "a vDSO function was called without a stack";
        return passage;
    }
    TRY_ASSIGN(auto breakpoint, set_breakpoint({*return_address}));
    while (true) {
        TRY_ASSIGN(const auto status, advance_to(breakpoint, Advance::run));
        if (status.kind() != Kind::signal_stop) continue;
        TRY_ASSIGN(const auto now, thread_.registers());
        if (own_trap_ && now.rip == *return_address && now.rsp == entry.rsp + 8) break;
        TRY_ASSIGN(const bool synchronous, own_trap_ ? Result<bool>(true) : is_synchronous());
        if (synchronous) {
            passage.blocked = "it did not return from a vDSO function";
            return passage;
        }
        TRY(hold());
    }
    auto& ranges = passage.writes.ranges;
    ranges.push_back({{entry.rsp - vdso_stack_bytes}, {entry.rsp + 8}});
    for (const auto pointer : {entry.rdi, entry.rsi, entry.rdx})
        ranges.push_back({{pointer}, {pointer + vdso_result_bytes}});
    // The sizes are those of getrandom(buffer, bytes, flags, state, state bytes). Other functions
    // pass none.
    if (entry.rsi <= max_transfer_bytes) ranges.push_back({{entry.rdi}, {entry.rdi + entry.rsi}});
    if (entry.r8 <= max_transfer_bytes) ranges.push_back({{entry.rcx}, {entry.rcx + entry.r8}});
    TRY(deliver_held(passage));
    return passage;
}

// Handles a system call by an instruction other than SYSCALL, which has another number and other
// effects. The call was not made: the program makes it when it goes on.
Result<Passage> NativeRun::leave_other_call(user_regs_struct before) {
    before.orig_rax = no_syscall;
    TRY(thread_.set_registers(before));
    Passage passage;
    passage.blocked = "it made a system call by an instruction other than SYSCALL";
    return passage;
}

Result<Passage> NativeRun::pass_instruction(bool registers_only) {
    Passage passage;
    if (!registers_only) passage.writes.ranges.push_back(MemoryRange::all());
    TRY_ASSIGN(const auto before, thread_.registers());
    while (true) {
        TRY_ASSIGN(const auto status, step());
        if (status.kind() == Kind::syscall_stop) return leave_other_call(before);
        if (status.kind() != Kind::signal_stop) continue;
        if (own_trap_) {
            TRY_ASSIGN(const auto now, thread_.registers());
            if (now.rip != before.rip) break;
            continue;  // one repetition of a string instruction
        }
        TRY_ASSIGN(const bool synchronous, is_synchronous());
        if (synchronous) return pass_fault(std::move(passage));
        TRY(hold());
    }
    TRY(deliver_held(passage));
    return passage;
}

Result<Passage> NativeRun::pass_fault(Passage passage) {
    if (target_.would_survive(thread_, thread_.status().signal())) {
        TRY(Target::rewind_fault(thread_));
        passage.blocked =
            "a fault ends the first process of a PID namespace only if nobody traces it";
        return passage;
    }
    TRY(deliver_one(passage));
    TRY(deliver_held(passage));
    return passage;
}

Result<Passage> NativeRun::pass_whatever() {
    if (thread_.status().kind() == Kind::syscall_stop) return pass_syscall({});
    if (thread_.status().kind() == Kind::signal_stop && !own_trap_) return pass_fault();
    Passage passage;
    TRY(deliver_held(passage));
    return passage;
}

Result<void> NativeRun::run_for(std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (true) {
        own_trap_ = false;
        TRY(thread_.set_off(Advance::to_syscall));
        TRY_ASSIGN(const bool stopped, thread_.has_stopped(end - std::chrono::steady_clock::now()));
        if (!stopped) return thread_.halt();
        if (thread_.status().kind() == Kind::syscall_stop) return {};
        if (thread_.status().kind() != Kind::signal_stop) continue;
        TRY_ASSIGN(const bool synchronous, is_synchronous());
        if (synchronous) return {};
        TRY(hold());
    }
}

Result<void> NativeRun::release() {
    using enum StoppedThread::OwnSignal;
    if (thread_.status().kind() == Kind::signal_stop)
        TRY(thread_.settle(own_trap_ ? dropped : delivered));
    Passage last;
    return deliver_held(last);
}

}  // namespace shadowprof
