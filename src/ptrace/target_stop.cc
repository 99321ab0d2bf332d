// Target::stop: how all threads come to stand still, and go on.
#include <algorithm>
#include <chrono>
#include <utility>

#include "ptrace/proc.h"
#include "ptrace/ptrace_call.h"
#include "ptrace/sleep_state.h"
#include "ptrace/target.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// A thread that has not stopped after the first wait may be one that never will; /proc tells.
constexpr microseconds first_wait{200};
constexpr milliseconds longest_wait{10};
// After so many, some five seconds, the stop has failed. Not a deadline: where the whole machine
// paused, as a virtual one does, the thread had no time either.
constexpr int most_waits = 500;

bool is_exec(const WaitStatus& status) {
    return status.is_event(PTRACE_EVENT_EXEC);
}

}  // namespace

void Target::interrupt(pid_t tid) {
    static_cast<void>(ptrace_call(PTRACE_INTERRUPT, tid, 0, std::uint64_t{0}, "interrupt"));
}

Result<ScopedStop> Target::stop(Sleepers sleepers, std::optional<std::chrono::nanoseconds> limit) {
    for (auto& [tid, thread] : threads_)
        thread.left_out = thread.dead || (!thread.stop && is_left_asleep(tid, sleepers));
    stop_began_ = Clock::now();
    interrupt_all(sleepers);
    held_ = true;
    std::vector<StoppedThread> stopped;
    auto result = settle_all(limit ? Deadline(stop_began_ + *limit) : std::nullopt);
    if (result && end_)
        result = Error{ErrorCode::gone, ESRCH, fmt::format("process {} has ended", pid_)};
    for (const auto& [tid, thread] : threads_) {
        if (thread.stop) stopped.emplace_back(*hub_, tid, *thread.stop);
    }
    ScopedStop stop(*this, std::move(stopped));
    if (!result) return std::move(result).error();
    return stop;
}

bool Target::is_left_asleep(pid_t tid, Sleepers sleepers) const {
    if (sleepers == Sleepers::stop) return false;
    const auto call = read_sleeping_call(pid_, tid);
    if (!call || call->is_futex_wait() || call->bears_child()) return false;
    if (sleepers != Sleepers::leave_alone && !is_stop_visible(pid_, *call)) return false;
    // A thread that is uninterruptible, as one that waits for the lock of its mappings, is back in
    // a moment; so it is stopped there.
    if (read_thread_state(pid_, tid).value_or('X') != 'S') return false;
    // It may stand in a stop that nobody has looked at yet, as behind a clone.
    return !hub_->has_status(tid);
}

// A thread may fall asleep after the first look, so it is looked at again right before it is
// interrupted. With one thread that was a moment ago.
void Target::interrupt_all(Sleepers sleepers) {
    const bool look_again = threads_.size() > 1;
    for (auto& [tid, thread] : threads_) {
        if (thread.left_out || thread.stop) continue;
        if (look_again && is_left_asleep(tid, sleepers))
            thread.left_out = true;
        else
            interrupt(tid);
    }
}

Result<void> Target::settle_all(Deadline deadline) {
    for (;;) {
        const auto moving = std::find_if(threads_.begin(), threads_.end(), [](const auto& entry) {
            return !entry.second.stop && !entry.second.left_out;
        });
        if (moving == threads_.end()) return {};
        TRY(settle_one(moving->first, deadline));
    }
}

// Takes one status of a thread that was interrupted, or finds out why there is none.
Result<void> Target::settle_one(pid_t tid, Deadline deadline) {
    WaitHub::Duration wait = first_wait;
    for (int waits = 0; waits < most_waits; ++waits) {
        if (deadline) {
            const auto left = *deadline - Clock::now();
            if (left <= Clock::duration::zero())
                return Error{ErrorCode::interrupted, 0,
                             "its threads did not all stop within the time of a burst"};
            wait = std::min<WaitHub::Duration>(wait, left);
        }
        const auto status = hub_->wait_for(tid, wait);
        if (!status) {  // the id of a thread that called exec, or that was detached
            note_end(tid, WaitStatus::decode(SIGKILL));
            return {};
        }
        if (*status) {
            take_status(tid, **status, true);
            return {};
        }
        const char state = read_thread_state(pid_, tid).value_or('X');
        Thread& thread = threads_[tid];
        // A dead leader reports its end only after all other threads.
        thread.dead = tid == pid_ && (state == 'Z' || state == 'X');
        thread.left_out = thread.dead || state == 'D';
        if (thread.left_out) return {};
        wait = std::min<WaitHub::Duration>(2 * wait, longest_wait);
    }
    const char state = read_thread_state(pid_, tid).value_or('X');
    return Error{ErrorCode::system, 0,
                 fmt::format("thread {} of the target does not stop (state {})", tid, state)};
}

void Target::resume_all(std::vector<StoppedThread>& threads) {
    take_back(threads);
    stop_ended_ = Clock::now();
    for (auto& [tid, thread] : threads_) {
        const auto stop = std::exchange(thread.stop, std::nullopt);
        if (!stop) continue;
        stop_ended_ = Clock::now();
        resume_one(tid, *stop);
    }
}

// The threads of a ScopedStop that ends: their stops may have become others. One that slept through
// the stop may have executed another program meanwhile.
void Target::take_back(std::vector<StoppedThread>& threads) {
    held_ = false;
    bool has_executed = false;
    for (const StoppedThread& thread : threads) {
        const auto it = threads_.find(thread.tid());
        if (it == threads_.end()) continue;
        const auto before = std::exchange(it->second.stop, thread.status());
        has_executed |= is_exec(thread.status()) && !(before && is_exec(*before));
    }
    if (!has_executed) return;
    const auto stop = threads_[pid_].stop;
    note_exec();
    threads_[pid_].stop = stop;
}

}  // namespace shadowprof
