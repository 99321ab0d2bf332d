#include "shadow/exact/process/forwarded_thread.h"

#include <asm/prctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/contains.h"
#include "base/cpu_state.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

using State = GuestThreads::State;

// Calls that read, set or hand on the thread's processors.
constexpr std::array<std::int64_t, 6> affinity_calls = {
    SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_fork, SYS_vfork, SYS_clone, SYS_clone3};

// Calls that bear processes.
constexpr std::array<std::int64_t, 4> bearing_calls = {SYS_fork, SYS_vfork, SYS_clone, SYS_clone3};

// The word that the kernel clears when the thread or process ends that this call has started.
GuestAddress cleared_at_end_of_new(const CpuState& cpu, MemoryReader& memory) {
    if (cpu[Gpr::rax] == SYS_fork || cpu[Gpr::rax] == SYS_vfork) return {};
    if (cpu[Gpr::rax] == SYS_clone)
        return {(cpu[Gpr::rdi] & CLONE_CHILD_CLEARTID) != 0 ? cpu[Gpr::r10] : 0};
    const auto arguments = read_value<clone_args>(memory, {cpu[Gpr::rdi]});
    return {arguments && (arguments->flags & CLONE_CHILD_CLEARTID) != 0 ? arguments->child_tid : 0};
}

}  // namespace

ForwardedThread::ForwardedThread(Target& target, StoppedThread& thread, GuestAddress cleared_at_end,
                                 BreakpointKind breakpoints, OneProcessor& processor)
    : target_(target),
      thread_(thread),
      native_(target, thread_, breakpoints),
      processor_(processor),
      cleared_at_end_(cleared_at_end) {}

ForwardedThread::ForwardedThread(Target& target, const Own& own, BreakpointKind breakpoints,
                                 OneProcessor& processor)
    : own_(own.thread),
      target_(target),
      thread_(*own_),
      native_(target, thread_, breakpoints),
      processor_(processor) {}

Result<std::unique_ptr<ForwardedThread>> ForwardedThread::take_born(Target& target, pid_t tid,
                                                                    const CpuState& call,
                                                                    BreakpointKind breakpoints,
                                                                    OneProcessor& processor) {
    TRY_ASSIGN(const auto status, target.hub().wait_for(tid));
    if (status.is_end()) return Error{ErrorCode::gone, ESRCH, "a new thread has ended"};
    const Own own{StoppedThread(target.hub(), tid, status)};
    std::unique_ptr<ForwardedThread> born(new ForwardedThread(target, own, breakpoints, processor));
    TRY(born->read_state());
    ProcessMemory memory(tid);
    born->cleared_at_end_ = cleared_at_end_of_new(call, memory);
    processor.add(tid);
    return born;
}

void ForwardedThread::emulated_to(const CpuState& state, State place) {
    state_ = state;
    place_ = place;
}

Result<std::optional<Passage>> ForwardedThread::make_call(const CallRequest& request,
                                                          bool has_others) {
    state_ = request.cpu;
    native_.enter_handlers_with(&state_);
    number_ = static_cast<std::int64_t>(request.cpu[Gpr::rax]);
    // A child begins with the process's own extended state.
    TRY(enter_call(request.cpu, request.is_current != 0));
    // The program asks for its own processors, or bears what inherits them.
    if (contains(affinity_calls, number_)) processor_.remove(tid());
    const bool bears = contains(bearing_calls, number_);
    const NativeRun::CallManner manner{.names_writes = false,
                                       .handlers_first = false,
                                       .follows_threads = true,
                                       .follows_children = target_.forks() == Forks::follow,
                                       .restarts_outside = has_others || bears};
    if (!has_others && !bears) {
        TRY_ASSIGN(auto passage, native_.pass_syscall(manner));
        finish_call(passage);
        return std::optional(std::move(passage));
    }
    TRY(native_.enter_syscall(manner));
    // Only others of the same worker gain from knowing at once whether the thread sleeps.
    if (request.may_wait == 0) sched_yield();
    TRY_ASSIGN(const bool there,
               request.may_wait == 0 ? native_.has_come_to_exit() : native_.goes_to_exit());
    return passage_of(there);
}

std::vector<ForwardedThread::Child> ForwardedThread::take_children() {
    std::vector<Child> children;
    ProcessMemory memory(tid());
    for (const auto& [pid, by_vfork] : native_.take_children())
        children.push_back({pid, by_vfork, cleared_at_end_of_new(state_, memory), refused_});
    return children;
}

Result<std::optional<Passage>> ForwardedThread::passed_call() {
    TRY_ASSIGN(const bool there, native_.has_come_to_exit());
    return passage_of(there);
}

// `is_at_exit`: of the call that the thread has entered.
Result<std::optional<Passage>> ForwardedThread::passage_of(bool is_at_exit) {
    if (!is_at_exit) {
        place_ = State::in_call;
        return std::optional<Passage>();
    }
    TRY_ASSIGN(auto passage, native_.leave_syscall_behind());
    finish_call(passage);
    return std::optional(std::move(passage));
}

// To be called when a call was made.
void ForwardedThread::finish_call(const Passage& passage) {
    place_ = State::runs;
    if (passage.result == 0) note_refused();
    // A new program may ask the processor what it is.
    if (passage.executed) refused_.cpuid = false;
    if (contains(affinity_calls, number_)) processor_.add(tid());
    if (number_ == SYS_set_tid_address) cleared_at_end_ = {state_[Gpr::rdi]};
}

// The call that has succeeded may have changed what is refused.
void ForwardedThread::note_refused() {
    const auto kind = static_cast<int>(state_[Gpr::rdi]);
    const auto value = static_cast<int>(state_[Gpr::rsi]);
    if (number_ == SYS_prctl && kind == PR_SET_TSC)
        refused_.time_stamp_counter = value == PR_TSC_SIGSEGV;
    if (number_ == SYS_arch_prctl && kind == ARCH_SET_CPUID) refused_.cpuid = value == 0;
}

Result<void> ForwardedThread::enter_call(const CpuState& cpu, bool with_extended) {
    TRY_ASSIGN(auto registers, thread_.registers());
    store_general(cpu, registers);
    registers.rip -= syscall_instruction_bytes;
    registers.orig_rax = no_syscall;
    TRY(thread_.set_registers(registers));
    if (with_extended) TRY(native_.make_state_true());
    TRY_ASSIGN(const bool there, native_.run_to({.kind = NativeRun::Stop::Kind::syscall}));
    if (!there)
        return Error{ErrorCode::system, 0,
                     "the process did not reach the system call that it was to make"};
    return {};
}

// A first thread that ends before the others stays as a zombie, and reports nothing.
Result<CallAnswer> ForwardedThread::end(const CpuState& cpu) {
    auto answer = end_of_killed();
    std::uint64_t head = 0;
    std::size_t bytes = 0;
    if (syscall(SYS_get_robust_list, tid(), &head, &bytes) == 0) answer.robust_list = {head};
    TRY(enter_call(cpu, false));
    TRY(thread_.set_off());
    constexpr std::chrono::milliseconds look{1};
    while (read_thread_state(target_.pid(), tid()).value_or('X') != 'Z') {
        const auto stopped = thread_.has_stopped(look);
        if (!stopped && stopped.error().code == ErrorCode::gone) break;
        if (!stopped) return stopped.error();
        if (*stopped) TRY(thread_.set_off());
    }
    return answer;
}

CallAnswer ForwardedThread::end_of_killed() const {
    return {.kind = CallAnswer::Kind::exited, .tid = tid(), .cleared = cleared_at_end_};
}

CpuState ForwardedThread::state_without_emulation() const {
    auto cpu = state_;
    if (place_ == State::waits || place_ == State::calls)
        cpu.rip = cpu.rip - syscall_instruction_bytes;
    return cpu;
}

Result<void> ForwardedThread::make_true() {
    return thread_.set_cpu_state(state_without_emulation());
}

Result<void> ForwardedThread::read_state() {
    TRY_ASSIGN(const auto snapshot, thread_.snapshot());
    emulated_to(snapshot.cpu, State::runs);
    return {};
}

Result<bool> ForwardedThread::has_signal() const {
    if (is_in_call()) return false;
    return native_.has_signal();
}

// A call that the thread waits in ends by the signal, or begins again behind its handler.
Result<Passage> ForwardedThread::deliver_signals() {
    TRY(thread_.set_cpu_state(place_ == State::waits ? state_ : state_without_emulation()));
    if (place_ == State::waits) {
        TRY_ASSIGN(auto registers, thread_.registers());
        registers.orig_rax = registers.rax;
        const bool has_timeout = state_[Gpr::r10] != 0;
        registers.rax =
            static_cast<std::uint64_t>(has_timeout ? restart_by_kernel : restart_after_handler);
        TRY(thread_.set_registers(registers));
    }
    native_.enter_handlers_with(&state_);
    Passage passage;
    TRY(native_.deliver_waiting(passage));
    native_.enter_handlers_with(nullptr);
    if (passage.jumped) TRY(read_state());
    return passage;
}

Result<bool> ForwardedThread::pause() {
    if (thread_.status().kind() != WaitStatus::Kind::group_stop) return false;
    TRY(thread_.resume());
    return true;
}

// The kernel reports the end of the stop, and sometimes another one in between.
Result<bool> ForwardedThread::has_continued() {
    TRY_ASSIGN(const bool stopped, thread_.has_stopped());
    if (!stopped) return false;
    TRY_ASSIGN(const bool again, pause());
    return !again;
}

Result<void> ForwardedThread::end_pause() {
    return thread_.halt();
}

Result<void> ForwardedThread::release() {
    if (is_in_call()) {
        // The kernel makes the call anew, or it has just ended.
        TRY(thread_.halt());
        native_.enter_handlers_with(&state_);
        TRY(native_.make_state_true());
    }
    processor_.remove(tid());
    return native_.release();
}

void ForwardedThread::detach() {
    if (own_) static_cast<void>(thread_.detach());
}

Result<void> ForwardedThread::read_rseq() {
    TRY_ASSIGN(rseq_, read_rseq_area(thread_));
    return {};
}

// Besides these, only the program writes there (struct rseq, include/uapi/linux/rseq.h).
std::vector<MemoryRange> ForwardedThread::written_at_resume() const {
    constexpr std::uint64_t numbers_end = 8, place_start = 20, place_end = 28;
    if (rseq_.empty()) return {};
    std::vector<MemoryRange> ranges = {{rseq_.start, rseq_.start + numbers_end}};
    if (rseq_.end - rseq_.start >= place_end)
        ranges.push_back({rseq_.start + place_start, rseq_.start + place_end});
    return ranges;
}

void ForwardedThread::note_processor(int memory_fd) const {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    if (rseq_.empty() || sched_getaffinity(tid(), sizeof processors, &processors) != 0 ||
        CPU_COUNT(&processors) != 1)
        return;
    std::uint32_t number = 0;
    while (!CPU_ISSET(number, &processors)) ++number;
    const std::array<std::uint32_t, 2> start_and_now = {number, number};
    // If it cannot be written, the kernel still does so.
    [[maybe_unused]] const auto written =
        pwrite(memory_fd, start_and_now.data(), sizeof start_and_now,
               static_cast<off_t>(rseq_.start.value));
}

}  // namespace shadowprof
