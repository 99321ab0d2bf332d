#include "shadow/exact/process/forwarded_process.h"

#include <fmt/format.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/contains.h"
#include "ptrace/proc/proc.h"
#include "ptrace/remote/remote_syscall.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/exact/process/borrowed_memory.h"

namespace shadowprof {
namespace {

using State = GuestThreads::State;

constexpr std::array<std::int64_t, 2> executing_calls = {SYS_execve, SYS_execveat};

// futex_waitv and futex_requeue, which C libraries do not name yet.
constexpr std::array<std::int64_t, 2> calls_of_several_futexes = {449, 456};

// Calls by which a thread sends a signal to another one alone.
constexpr std::array<std::int64_t, 4> thread_signalling_calls = {
    SYS_tkill, SYS_tgkill, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal};

// The same, as what may be missing.
template <typename Value>
Result<std::optional<Value>> some(Result<Value> result) {
    if (!result) return std::move(result).error();
    return std::optional(std::move(*result));
}

std::int64_t number_of(const CpuState& call) {
    return static_cast<std::int32_t>(call[Gpr::rax]);
}

// Whether the call may leave memory out of forks. Where a part of the range is no memory, it fails
// and has marked the rest.
bool may_mark_memory(const CpuState& call) {
    constexpr std::size_t advice_argument = 2;
    if (number_of(call) == SYS_process_madvise) return true;
    const auto advice = static_cast<int>(call_arguments(call)[advice_argument]);
    return number_of(call) == SYS_madvise && (advice == MADV_DONTFORK || advice == MADV_WIPEONFORK);
}

}  // namespace

ForwardedProcess::ForwardedProcess(Target& target, StoppedThread& first,
                                   GuestAddress cleared_at_end, BreakpointKind breakpoints,
                                   OneProcessor& processor, ExactStats& stats)
    : target_(target), breakpoints_(breakpoints), processor_(processor), stats_(stats) {
    threads_.push_back(
        std::make_unique<ForwardedThread>(target, first, cleared_at_end, breakpoints, processor));
    began_[threads_.back()->tid()] = ThreadLife::Clock::now();
}

std::size_t ForwardedProcess::live_threads() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(threads_, [](const auto& thread) { return thread != nullptr; }));
}

bool ends_soon(pid_t pid, pid_t tid) {
    constexpr std::chrono::milliseconds moment{2000}, look{1};
    for (auto waited = 0 * look; waited < moment; waited += look) {
        if (has_thread_ended(pid, tid)) return true;
        WaitHub::sleep(look);
    }
    return false;
}

bool ForwardedProcess::ends_soon() const {
    return shadowprof::ends_soon(target_.pid(), live_tid());
}

std::size_t ForwardedProcess::first_standing() const {
    std::optional<std::size_t> live;
    for (std::size_t i = 0; i < size(); ++i) {
        if (!has(i)) continue;
        if (!thread(i).is_in_call()) return i;
        if (!live) live = i;
    }
    return live.value_or(0);
}

pid_t ForwardedProcess::live_tid() const {
    const auto live = first_standing();
    return has(live) ? thread(live).tid() : target_.pid();
}

std::uint64_t ForwardedProcess::signals_held() const {
    auto sum = signals_of_ended_;
    for (const auto& thread : threads_)
        if (thread) sum += thread->native().signals_held();
    return sum;
}

std::vector<ForwardedThread::Child> ForwardedProcess::take_children() {
    std::vector<ForwardedThread::Child> all;
    for (const auto& thread : threads_) {
        if (!thread) continue;
        const auto children = thread->take_children();
        all.insert(all.end(), children.begin(), children.end());
    }
    return all;
}

std::vector<pid_t> ForwardedProcess::thread_ids() const {
    std::vector<pid_t> ids;
    for (const auto& thread : threads_)
        if (thread) ids.push_back(thread->tid());
    return ids;
}

Result<std::optional<ForwardedProcess::Answer>> ForwardedProcess::answer(const CallRequest& request,
                                                                         bool is_alone) {
    if (request.kind != CallRequest::Kind::call) return answer_ended(request, false);
    if (!has(request.thread) || thread(request.thread).is_in_call())
        return Error{ErrorCode::invalid, 0,
                     "the emulator's process named a thread that does not exist"};
    return answer_call(request, is_alone);
}

Result<std::optional<ForwardedProcess::Answer>> ForwardedProcess::answer_late(
    const CallRequest& request, bool must_not_wait) {
    return request.kind == CallRequest::Kind::call ? late_answer_of_call(request, must_not_wait)
                                                   : answer_ended(request, must_not_wait);
}

Result<std::optional<ForwardedProcess::Answer>> ForwardedProcess::answer_call(
    const CallRequest& request, bool is_alone) {
    ++stats_.intervals;
    ++stats_.boundaries["a system call"];
    const auto number = number_of(request.cpu);
    if (number == SYS_exit) note_name(thread(request.thread));
    if (number == SYS_exit_group)
        for (const auto& each : threads_)
            if (each) note_name(*each);
    const bool has_others = live_threads() > 1;
    if (number == SYS_exit && has_others) return some(end_thread(request));
    if (auto why = why_not_made(request); !why.empty())
        return some(refuse(request, std::move(why)));
    if (auto answer = answer_of_timer(request)) return answer;
    may_have_marks_ |= may_mark_memory(request.cpu);
    auto called = thread(request.thread).make_call(request, has_others || !is_alone);
    if (!called && called.error().code == ErrorCode::gone && has_others && outlives(request.thread))
        return std::optional(ended(request.thread, thread(request.thread).end_of_killed()));
    TRY_ASSIGN(auto passage, std::move(called));
    if (number == SYS_rt_sigaction)
        for (const auto& each : threads_)
            if (each) each->native().forget_dispositions();
    if (passage) return some(answer_of(request.thread, &request, std::move(*passage)));
    if (request.may_wait == 0) return std::optional<Answer>();
    return std::optional(under_way(request));
}

ForwardedProcess::Answer ForwardedProcess::under_way(const CallRequest& request) {
    Answer answer{.message = {.kind = CallAnswer::Kind::under_way, .thread = request.thread}};
    // The kernel marks the word of a lock with priority inheritance while a thread waits for it.
    if (number_of(request.cpu) == SYS_futex) {
        const GuestAddress word{request.cpu[Gpr::rdi]};
        answer.ranges.push_back({word, word + sizeof(std::uint32_t)});
    }
    return answer;
}

// The worker must learn of the call's end before its guest goes on.
Result<std::optional<ForwardedProcess::Answer>> ForwardedProcess::late_answer_of_call(
    const CallRequest& request, bool must_not_wait) {
    TRY_ASSIGN(auto passage, thread(request.thread).passed_call());
    if (passage) return some(answer_of(request.thread, &request, std::move(*passage)));
    // The kernel cannot be told to leave a vfork.
    if (!must_not_wait || thread(request.thread).native().waits_for_child())
        return std::optional<Answer>();
    auto answer = under_way(request);
    answer.message.ends_run = 1;
    return std::optional(std::move(answer));
}

// Makes a call about a timer of processor time.
std::optional<ForwardedProcess::Answer> ForwardedProcess::answer_of_timer(
    const CallRequest& request) {
    const auto& cpu = request.cpu;
    WritableProcessMemory memory(live_tid());
    const auto result =
        timers_.call(number_of(cpu), call_arguments(cpu), memory, request.processor_ns);
    if (!result) return std::nullopt;
    return Answer{.message = {.thread = request.thread,
                              .rax = static_cast<std::uint64_t>(*result),
                              .fs_base = cpu.fs_base,
                              .gs_base = cpu.gs_base}};
}

Result<void> ForwardedProcess::signal_timers(std::size_t current, std::int64_t processor_ns) {
    for (const auto& due : timers_.take_due(processor_ns)) TRY(signal(due, current));
    return {};
}

// Whether a signal that nobody can get now is one that waits from now on. As in the kernel, a
// standard signal waits once, and a real-time signal once for each timer.
bool ForwardedProcess::comes_to_wait(const siginfo_t& info, bool such_wait) {
    if (info.si_signo < first_real_time_signal) return !such_wait;
    if (!such_wait)
        std::erase_if(waiting_signals_,
                      [&](const auto& each) { return each.first == info.si_signo; });
    return waiting_signals_.emplace(info.si_signo, info.si_timerid).second;
}

// A thread that stands still gets it with everything that the kernel would tell. If there is none
// that does not block it, it waits for the process, once.
Result<void> ForwardedProcess::signal(const ProcessorTimers::Signal& signal, std::size_t current) {
    const std::uint64_t bit = std::uint64_t{1} << (signal.info.si_signo - 1);
    bool waits = false;
    for (std::size_t i = 0; i < size(); ++i) {
        const std::size_t index = (current + i) % size();
        if (!has(index) || (signal.thread != 0 && thread(index).tid() != signal.thread)) continue;
        TRY_ASSIGN(const auto status, read_proc_status(thread(index).tid()));
        waits |= (status.pending_signals & bit) != 0;
        if ((status.blocked_signals & bit) != 0 || thread(index).is_in_call()) continue;
        thread(index).native().hold(signal.info);
        return {};
    }
    if (!comes_to_wait(signal.info, waits)) return {};
    siginfo_t info = signal.info;
    // Only the kernel itself may say that a signal is the kernel's.
    if (info.si_code == SI_KERNEL) info.si_code = SI_TIMER;
    if (signal.thread != 0)
        syscall(SYS_rt_tgsigqueueinfo, target_.pid(), signal.thread, info.si_signo, &info);
    else
        syscall(SYS_rt_sigqueueinfo, target_.pid(), info.si_signo, &info);
    return {};
}

// Why a call is left to the program itself, which then can be followed no further.
std::string ForwardedProcess::why_not_made(const CallRequest& request) const {
    const auto number = number_of(request.cpu);
    const auto threads = live_threads();
    // The thread would take the place and the id of the first one.
    const bool is_first = thread(request.thread).tid() == target_.pid();
    if ((threads > 1 || !is_first) && contains(executing_calls, number))
        return "it executes another program while it has several threads";
    if (threads > 1 && contains(calls_of_several_futexes, number))
        return "it waits for several futexes at once";
    // The kernel would look at memory of the process that the worker has changed since.
    if (number == SYS_prctl && request.cpu[Gpr::rdi] == PR_SET_SYSCALL_USER_DISPATCH &&
        request.cpu[Gpr::rsi] != 0)
        return "it handles its own system calls (PR_SET_SYSCALL_USER_DISPATCH)";
    if (number == SYS_userfaultfd) return "it handles page faults itself (userfaultfd)";
    if (threads >= GuestThreads::max_threads && (number == SYS_clone || number == SYS_clone3))
        return fmt::format("it has more than {} threads", GuestThreads::max_threads);
    return {};
}

// Leaves the thread before the call.
Result<ForwardedProcess::Answer> ForwardedProcess::refuse(const CallRequest& request,
                                                          std::string why) {
    auto& thread = *threads_[request.thread];
    thread.emulated_to(request.cpu, State::waits);
    TRY(thread.make_true());
    return Answer{.message = {.kind = CallAnswer::Kind::left,
                              .thread = request.thread,
                              .rax = static_cast<std::uint64_t>(-EINTR)},
                  .left = Left{request.thread, {.blocked = std::move(why)}}};
}

Result<ForwardedProcess::Answer> ForwardedProcess::end_thread(const CallRequest& request) {
    TRY_ASSIGN(const auto message, thread(request.thread).end(request.cpu));
    return ended(request.thread, message);
}

ForwardedProcess::Answer ForwardedProcess::ended(std::size_t index, CallAnswer message) {
    message.thread = index;
    signals_of_ended_ += thread(index).native().signals_held();
    note_end(thread(index).tid());
    threads_[index].reset();
    return Answer{.message = message};
}

// Whether other threads go on when this one was killed: a filter of system calls can kill one
// alone. Otherwise all end at once, which takes a moment.
bool ForwardedProcess::outlives(std::size_t index) const {
    constexpr std::chrono::milliseconds moment{200}, look{5};
    for (auto waited = look; waited < moment; waited += look) {
        for (const auto& other : threads_) {
            if (!other || other.get() == &thread(index)) continue;
            if (has_thread_ended(target_.pid(), other->tid())) return false;
        }
        std::this_thread::sleep_for(look);
    }
    return true;
}

// `call` is null if the call was under way before.
Result<ForwardedProcess::Answer> ForwardedProcess::answer_of(std::size_t index,
                                                             const CallRequest* call,
                                                             Passage passage) {
    if (passage.blocked.empty()) passage.blocked = why_not_further();
    Answer answer{.message = {.thread = index}, .ranges = thread(index).written_at_resume()};
    if (call && passage.result) {
        ProcessMemory memory(thread(index).tid());
        timers_.note(number_of(call->cpu), call_arguments(call->cpu),
                     static_cast<std::int64_t>(*passage.result), memory);
    }
    if (passage.executed) timers_.begin_program();
    may_have_marks_ &= !passage.executed;
    if (passage.executed || passage.jumped || !passage.blocked.empty()) {
        using enum CallAnswer::Kind;
        answer.message.kind = passage.executed ? gone : left;
        // A call that was not made has written nothing.
        answer.message.rax = passage.result.value_or(static_cast<std::uint64_t>(-EINTR));
        const auto& written = passage.writes.ranges;
        answer.ranges.insert(answer.ranges.end(), written.begin(), written.end());
        answer.left = Left{index, std::move(passage)};
        return answer;
    }
    TRY_ASSIGN(const auto registers, thread(index).stopped().registers());
    answer.layout_changed = passage.writes.layout;
    answer.message.rax = registers.rax;
    answer.message.fs_base = registers.fs_base;
    answer.message.gs_base = registers.gs_base;
    if (passage.born != 0 && call) TRY(add_born(passage.born, call->cpu, answer));
    return answer;
}

Result<void> ForwardedProcess::add_born(pid_t tid, const CpuState& call, Answer& answer) {
    TRY_ASSIGN(auto born, ForwardedThread::take_born(target_, tid, call, breakpoints_, processor_));
    auto place = std::ranges::find_if(threads_, [](const auto& each) { return !each; });
    if (place == threads_.end()) place = threads_.insert(place, nullptr);
    answer.message.kind = CallAnswer::Kind::born;
    answer.message.new_thread = static_cast<std::uint64_t>(place - threads_.begin());
    answer.born = born->state();
    born->refuse(thread(answer.message.thread).refused());
    note_name(*born);
    began_[tid] = ThreadLife::Clock::now();
    *place = std::move(born);
    return {};
}

Result<std::optional<ForwardedProcess::Answer>> ForwardedProcess::answer_ended(
    const CallRequest& request, bool must_not_wait) {
    for (std::size_t i = 0; i < size(); ++i) {
        if (!has(i) || !thread(i).is_in_call()) continue;
        TRY_ASSIGN(auto passage, thread(i).passed_call());
        if (passage) return some(answer_of(i, nullptr, std::move(*passage)));
    }
    Answer none{.message = {.kind = CallAnswer::Kind::none, .ends_run = must_not_wait}};
    if (must_not_wait || request.kind == CallRequest::Kind::ended ||
        request.until_ns <= read_clock_ns(CLOCK_MONOTONIC))
        return std::optional(std::move(none));
    return std::optional<Answer>();
}

std::string ForwardedProcess::why_not_further() const {
    for (const auto& thread : threads_) {
        if (!thread) continue;
        if (thread->native().has_memory_sharer())
            return "a child runs in the same memory at the same time";
    }
    return {};
}

Result<std::optional<std::size_t>> ForwardedProcess::signalled() const {
    for (std::size_t i = 0; i < size(); ++i) {
        if (!has(i)) continue;
        TRY_ASSIGN(const bool waits, thread(i).has_signal());
        if (waits) return std::optional(i);
    }
    return std::optional<std::size_t>();
}

bool ForwardedProcess::refuses_instructions() const {
    return std::ranges::any_of(
        threads_, [](const auto& thread) { return thread && thread->refused().any(); });
}

// Any call may send a signal to the process, as a write to a file with an owner does. A signal that
// no thread could get when it was last looked at waits until one unblocks it, by a call of its own.
Result<bool> ForwardedProcess::is_signalled_behind(const CallRequest& call) {
    if (live_threads() < 2) return false;
    auto& standing = thread(first_standing());
    if (standing.is_in_call()) return false;
    TRY_ASSIGN(const bool waits, standing.stopped().has_queued_signal());
    std::uint64_t waiting = 0;
    if (waits) {
        TRY_ASSIGN(const auto status, read_proc_status(standing.tid()));
        waiting = status.pending_signals;
    }
    const bool is_new = (waiting & ~std::exchange(waiting_since_earlier_, waiting)) != 0;
    if (!is_new && !contains(thread_signalling_calls, number_of(call.cpu))) return false;
    TRY_ASSIGN(const auto signalled, this->signalled());
    return signalled.has_value();
}

// All threads stand still, and need nothing more.
Result<void> ForwardedProcess::arm_timers() {
    const auto calls = timers_.arming_calls();
    if (calls.empty()) return {};
    auto& stopped = thread(first_standing()).stopped();
    TRY(stopped.settle());
    TRY_ASSIGN(const auto registers, stopped.registers());
    const GuestAddress room{registers.rsp & ~std::uint64_t{7}};
    TRY_ASSIGN(const auto times,
               BorrowedMemory<decltype(calls.front().times)>::of(stopped.tid(), room));
    TRY_ASSIGN(auto session, target_.borrow(stopped));
    for (const auto& [number, timer, of_timer] : calls) {
        TRY(times.put(of_timer));
        const bool is_interval = number == SYS_setitimer;
        const std::uint64_t at = times.address();
        TRY(session.call(static_cast<std::uint64_t>(number),
                         {timer, is_interval ? at : 0, is_interval ? 0 : at, 0}));
    }
    return session.finish();
}

Result<void> ForwardedProcess::release(std::size_t current) {
    for (std::size_t i = 0; i < size(); ++i)
        if (has(i) && i != current && !thread(i).is_in_call()) TRY(thread(i).make_true());
    for (std::size_t i = 0; i < size(); ++i)
        if (has(i)) TRY(thread(i).release());
    // Without its timers the program goes on all the same.
    static_cast<void>(arm_timers());
    for (const auto& thread : threads_)
        if (thread) thread->detach();
    return {};
}

void ForwardedProcess::note_end(pid_t tid) {
    const auto began = began_.find(tid);
    if (began == began_.end()) return;
    ended_threads_.add({tid, began->second, ThreadLife::Clock::now()});
    began_.erase(began);
}

std::vector<ThreadLife> ForwardedProcess::thread_lives() const {
    auto lives = ended_threads_.list();
    for (const auto& [tid, began] : began_) lives.push_back({tid, began, std::nullopt});
    return lives;
}

void ForwardedProcess::note_name(const ForwardedThread& thread) {
    if (auto name = read_thread_name(target_.pid(), thread.tid()))
        names_[thread.tid()] = std::move(*name);
}

}  // namespace shadowprof
