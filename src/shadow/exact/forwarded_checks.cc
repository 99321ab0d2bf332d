// Proofs of a ForwardedRun: when intervals are checked, and what that needs of the process.
#include <fmt/format.h>
#include <sys/ptrace.h>

#include <algorithm>

#include "ptrace/process/target.h"
#include "ptrace/thread/ptrace_call.h"
#include "shadow/exact/exact_limits.h"
#include "shadow/exact/forwarded_run.h"

namespace shadowprof {

Result<void> ForwardedRun::set_options(const ForwardedThread& thread) {
    stop_.target().die_with_tracer();
    TRY(ptrace_call(PTRACE_SETOPTIONS, thread.tid(), 0, stop_.target().ptrace_options(),
                    "PTRACE_SETOPTIONS"));
    return {};
}

// With a fork server, the leader and what it bears stop before their end (PTRACE_O_TRACEEXIT). That
// is expected of a process of one thread alone.
Result<void> ForwardedRun::end_fork_server() {
    stop_.target().end_companion();
    for (std::size_t i = 0; i < process_.size(); ++i)
        if (process_.has(i) && !process_.thread(i).is_in_call())
            TRY(set_options(process_.thread(i)));
    return {};
}

bool ForwardedRun::is_check_due() const {
    return checks_.is_due() && can_check() && !leaves_checks_ &&
           (process_.size() == 1 || (is_in_turn_ && !anew_)) &&
           thread().place() == GuestThreads::State::runs;
}

// Whether a copy would do what the process does. It is made through the leader, which must stand
// still. Bursts of several threads would depend on where runs end.
bool ForwardedRun::can_check() const {
    return process_.timers().deadline_ns() == ProcessorTimers::never_ns && !shares_memory_ &&
           (process_.size() == 1 || !options_.bursts) && process_.has(0) &&
           process_.thread(0).tid() == stop_.target().pid() && !process_.thread(0).is_in_call() &&
           std::ranges::none_of(map_.mappings(),
                                [](const Mapping& m) { return m.shared && m.writable; });
}

// Copies the process, for the coming interval to be checked.
Result<void> ForwardedRun::prepare_check() {
    const auto forking = Clock::now();
    using enum IntervalCheck::Part;
    const bool has_others = process_.size() > 1;
    if (at_ != 0) {
        auto& leader = process_.thread(0);
        TRY(leader.make_true());
        TRY(leader.stopped().settle(StoppedThread::OwnSignal::dropped));
    }
    auto interval = IntervalCheck::begin(stop_, thread().stopped(), thread().state(), breakpoints_,
                                         has_others ? of_turn : whole, process_.may_have_marks());
    if (!interval && has_others)
        TRY(end_fork_server());
    else
        TRY(set_options(process_.thread(0)));
    if (interval) {
        checked_.emplace(Checked{std::move(*interval), Clock::now() - forking});
        return {};
    }
    if (interval.error().code == ErrorCode::gone) return std::move(interval).error();
    // As at a limit of processes.
    checks_.put_off();
    return {};
}

Result<bool> ForwardedRun::end_checked(Checked checked, const SampleOutcome& outcome) {
    const auto checking = Clock::now();
    {
        auto interval = std::move(checked.interval);
        TRY(check(interval, outcome));
    }
    if (process_.size() > 1) TRY(end_fork_server());
    TRY_ASSIGN(const bool current, of_worker(worker_->give_memory()));
    if (!current)
        return Error{ErrorCode::system, 0,
                     "the emulated memory could not be copied to the process"};
    checks_.spent(checked.forking + (Clock::now() - checking));
    take_states(outcome);
    thread().native().enter_handlers_with(&thread().state());
    // It may begin with what has ended this one.
    leaves_checks_ = process_.size() > 1;
    if (outcome.result.end != SampleEnd::stopped) return end_stretch(outcome);
    TRY_ASSIGN(auto passage, pass_checked(outcome));
    is_current_ = true;
    return prepare_next(std::move(passage));
}

// Compares the interval's end with the hardware's.
Result<void> ForwardedRun::check(IntervalCheck& interval, const SampleOutcome& outcome) {
    TRY_ASSIGN(auto found, interval.compare(outcome, *worker_));
    if (!found) return {};
    ++stats_.compared;
    if (found->empty()) return {};
    ++stats_.diverged;
    found->insert(found->begin(), fmt::format("ended at {:#x}", outcome.cpu.rip.value));
    if (divergences_.size() < kept_divergences)
        divergences_.push_back({stats_.intervals, std::move(*found)});
    return {};
}

// Leads the process past the call into the vDSO at which a checked interval has ended. A system
// call is left to the next stretch.
Result<Passage> ForwardedRun::pass_checked(const SampleOutcome& outcome) {
    if (outcome.result.syscalls != 0) {
        thread().emulated_to(outcome.cpu, GuestThreads::State::calls);
        return Passage{};
    }
    ++stats_.intervals;
    ++stats_.boundaries["a vDSO call"];
    TRY(thread().stopped().set_cpu_state(outcome.cpu));
    TRY_ASSIGN(auto passage, thread().native().pass_vdso_call());
    TRY(thread().read_state());
    return passage;
}

}  // namespace shadowprof
