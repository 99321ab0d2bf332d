#include "shadow/latency/load_timer.h"

#include <x86intrin.h>

#include <array>
#include <atomic>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/remote/sigreturn_frame.h"
#include "ptrace/thread/thread_registers.h"
#include "shadow/latency/timer_layout.h"

extern "C" const std::byte shadowprof_timer_begin[], shadowprof_timer_end[];

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// How often the mailbox is read between two observations at the thread and the clock.
constexpr int observations_in_a_row = 256;
// Single-step, direction and alignment check flags.
constexpr std::uint64_t harmful_flags = trap_flag | 0x400 | 0x40000;
// The thread leaves the timing code by itself after this many times its limit.
constexpr int patience_factor = 2;

bool is_raised_by_load(const siginfo_t& info) {
    return (info.si_signo == SIGSEGV || info.si_signo == SIGBUS) && info.si_code > 0;
}

}  // namespace

std::span<const std::byte> timer_code() {
    return {shadowprof_timer_begin, shadowprof_timer_end};
}

double tsc_per_ns() {
    static const double rate = [] {
        constexpr std::int64_t span_ns = 1'000'000;
        const auto start_ns = read_clock_ns(CLOCK_MONOTONIC);
        const auto start = __rdtsc();
        auto now_ns = start_ns;
        while (now_ns - start_ns < span_ns) now_ns = read_clock_ns(CLOCK_MONOTONIC);
        return static_cast<double>(__rdtsc() - start) / static_cast<double>(now_ns - start_ns);
    }();
    return rate;
}

std::uint64_t& LoadTimer::word(std::size_t offset) const {
    return *reinterpret_cast<std::uint64_t*>(memory_->bytes().data() + offset);
}

Result<LoadTimer> LoadTimer::begin(StoppedThread& thread, ScratchMemory& memory,
                                   nanoseconds limit) {
    const auto unsupported = [](std::string_view reason) {
        return Error{ErrorCode::unsupported, 0, std::string(reason)};
    };
    if (!thread.status().is_trap())
        return unsupported("the thread was stopped where its loads cannot be timed");
    TRY_ASSIGN(const auto saved, thread.registers());
    TRY_ASSIGN(const bool restartable, in_restartable_sequence(thread, saved.rip));
    if (restartable) return unsupported("the thread is inside a restartable sequence");
    TRY_ASSIGN(const std::uint64_t mask, thread.signal_mask());
    alignas(64) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, thread.extended_state(buffer));
    TRY(write_sigreturn_frame(saved, mask, extended, memory.bytes().subspan(TIMER_FRAME),
                              memory.data() + TIMER_FRAME));
    LoadTimer session(thread, memory, saved, mask);
    session.word(TIMER_QUESTION) = session.word(TIMER_ANSWER) = 0;
    TRY(session.set_off(limit));
    return session;
}

LoadTimer::LoadTimer(LoadTimer&& other) noexcept
    : thread_(std::exchange(other.thread_, nullptr)),
      memory_(other.memory_),
      saved_(other.saved_),
      saved_mask_(other.saved_mask_),
      question_(other.question_),
      deadline_tsc_(other.deadline_tsc_),
      runs_(other.runs_) {}

Result<void> LoadTimer::set_off(nanoseconds limit) {
    const auto wait = static_cast<double>((patience_factor * limit).count()) * tsc_per_ns();
    deadline_tsc_ = __rdtsc() + static_cast<std::uint64_t>(wait);
    // The registers come first, as they lead the thread back to its signal mask if we die.
    TRY(point_at_timer());
    TRY(thread_->set_signal_mask(~load_signals));
    return run();
}

Result<void> LoadTimer::set_off_again() {
    TRY(point_at_timer());
    return run();
}

// Points the thread at the begin of the code, which takes the last question for answered.
Result<void> LoadTimer::point_at_timer() {
    user_regs_struct registers = saved_;
    registers.rip = memory_->code().value;
    registers.rsp = (memory_->data() + TIMER_FRAME).value;
    registers.r12 = memory_->data().value;
    registers.r13 = deadline_tsc_;
    registers.r14 = question_;
    registers.orig_rax = no_syscall;
    registers.eflags &= ~harmful_flags;
    return thread_->set_registers(registers);
}

Result<void> LoadTimer::run() {
    TRY(thread_->set_off());
    runs_ = true;
    return {};
}

Result<std::optional<TimedLoad>> LoadTimer::time(GuestAddress first, GuestAddress last,
                                                 Clock::time_point until) {
    const Error late{ErrorCode::interrupted, 0, "the timing code does not answer"};
    if (!thread_ || !runs_) return late;
    word(TIMER_FIRST) = first.value;
    word(TIMER_LAST) = last.value;
    std::atomic_ref(word(TIMER_QUESTION)).store(++question_, std::memory_order_release);
    const std::atomic_ref answer(word(TIMER_ANSWER));
    for (int observations = 1; answer.load(std::memory_order_acquire) != question_;
         ++observations) {
        _mm_pause();
        if (observations % observations_in_a_row != 0) continue;
        TRY_ASSIGN(const bool stopped, thread_->has_stopped());
        if (stopped) {
            runs_ = false;
            TRY_ASSIGN(const bool faulted, stopped_by_fault());
            if (!faulted) return late;
            TRY(set_off_again());
            return std::optional<TimedLoad>{};
        }
        if (Clock::now() >= until) return late;
    }
    const auto bytes = word(TIMER_BYTES);
    return std::optional(TimedLoad{.cycles = word(TIMER_CYCLES),
                                   .first = static_cast<std::byte>(bytes),
                                   .last = static_cast<std::byte>(bytes >> 8)});
}

Result<bool> LoadTimer::is_in_timer() const {
    TRY_ASSIGN(const auto registers, thread_->registers());
    return registers.rip - memory_->code().value < timer_code().size();
}

Result<bool> LoadTimer::stopped_by_fault() {
    if (thread_->status().kind() != WaitStatus::Kind::signal_stop) return false;
    TRY_ASSIGN(const auto info, thread_->signal_info());
    if (!is_raised_by_load(info)) return false;
    return is_in_timer();
}

// A thread that gave up by itself has its own registers already. A signal that somebody has sent
// stays in its status.
Result<void> LoadTimer::finish() {
    if (!thread_) return {};
    StoppedThread& thread = *thread_;
    if (std::exchange(runs_, false)) TRY(thread.halt());
    TRY_ASSIGN(const bool faulted, stopped_by_fault());
    TRY_ASSIGN(const bool ours, is_in_timer());
    thread_ = nullptr;
    if (!ours) return {};
    if (faulted) TRY(thread.settle(StoppedThread::OwnSignal::dropped));
    TRY(thread.set_signal_mask(saved_mask_));
    return thread.set_registers(saved_);
}

}  // namespace shadowprof
