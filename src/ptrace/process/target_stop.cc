// Target::stop: how all threads are stopped and resumed.
#include <algorithm>
#include <chrono>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/process/sleep_state.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// A thread that has not stopped after the first sleep may never stop. /proc tells.
constexpr microseconds first_sleep{200};
constexpr milliseconds longest_sleep{10};
// After this much sleep the stop has failed. It is no deadline: if the whole machine paused, as a
// virtual one does, the threads had no time either.
constexpr std::chrono::seconds max_sleep{5};
constexpr std::size_t max_stop_times = 256;

bool is_exec(const WaitStatus& status) {
    return status.is_event(PTRACE_EVENT_EXEC);
}

}  // namespace

void Target::interrupt(pid_t tid) {
    static_cast<void>(ptrace_call(PTRACE_INTERRUPT, tid, 0, std::uint64_t{0}, "interrupt"));
}

Result<ScopedStop> Target::stop(Sleepers sleepers, StopLimits limits) {
    for (auto& [tid, thread] : threads_)
        thread.left_out = thread.dead || (!thread.stop && sleepers != Sleepers::stop &&
                                          is_left_asleep(tid, look_at(tid, thread), sleepers));
    if (!urgency_) urgency_ = last_urgency_.lock();
    if (!urgency_) last_urgency_ = urgency_ = std::make_shared<const Urgency>();
    StopCourse course(limits, urgency_->is_granted(), Clock::now());
    interrupt_all(sleepers);
    course.note_interrupted(Clock::now());
    held_ = true;
    std::vector<StoppedThread> stopped;
    auto result = settle_all(course);
    stop_began_ = course.began();
    had_no_processor_ = course.found_none_on_processor() && has_late();
    if (result && end_)
        result = Error{ErrorCode::gone, ESRCH, fmt::format("process {} has ended", pid_)};
    for (const auto& [tid, thread] : threads_) {
        if (thread.stop) stopped.emplace_back(*hub_, tid, *thread.stop);
    }
    for (const StoppedThread& each : stopped) {
        Thread& thread = threads_[each.tid()];
        thread.wakes.note_stop(thread.waits_for_futex);
    }
    ScopedStop stop(*this, std::move(stopped));
    if (!result) return std::move(result).error();
    return stop;
}

// Returns what the thread is asleep in before a stop.
std::optional<SleepingCall> Target::look_at(pid_t tid, Thread& thread) const {
    const auto call = read_sleeping_call(pid_, tid);
    thread.waits_for_futex = call && call->is_futex_wait();
    if (!thread.waits_for_futex) return call;
    if (const auto runs = read_thread_runs(pid_, tid))
        thread.wakes.observe(Clock::now(), runs->runs);
    return call;
}

bool Target::is_left_asleep(pid_t tid, const std::optional<SleepingCall>& call,
                            Sleepers sleepers) const {
    if (!call || call->bears_child()) return false;
    const bool leaves_waiters =
        sleepers == Sleepers::leave_rarely_woken && threads_.at(tid).wakes.is_seldom();
    if (call->is_futex_wait() && !leaves_waiters) return false;
    if (sleepers == Sleepers::stop_unseen && !is_stop_visible(pid_, *call)) return false;
    // An uninterruptible thread, as one that waits for the lock of its mappings, comes back in a
    // moment and is stopped then.
    if (read_thread_state(pid_, tid).value_or('X') != 'S') return false;
    // It may be in a stop whose status nobody has read yet, as after a clone.
    return !hub_->has_status(tid);
}

// A thread may fall asleep after the first observation, so it is looked at again right before it is
// interrupted. With only one thread, the first observation was a moment ago.
void Target::interrupt_all(Sleepers sleepers) {
    const bool look_again = threads_.size() > 1 && sleepers != Sleepers::stop;
    for (auto& [tid, thread] : threads_) {
        if (thread.left_out || thread.stop) continue;
        if (look_again && is_left_asleep(tid, read_sleeping_call(pid_, tid), sleepers))
            thread.left_out = true;
        else
            interrupt(tid);
    }
}

Result<void> Target::settle_all(StopCourse& course) {
    WaitHub::Duration sleep = first_sleep, slept{0};
    while (!course.is_over()) {
        bool has_stopped = false;
        for (const pid_t tid : moving())
            has_stopped |= threads_.contains(tid) && take_stop(tid, course);
        const auto late = moving();
        if (late.empty()) return {};
        if (course.may_leave_out()) {
            leave_out_late(late);
            return {};
        }
        if (has_stopped) sleep = first_sleep, slept = {};
        const auto time = course.sleep_time(sleep);
        if (!WaitHub::sleep(time)) {
            leave_out_immovable(late);
            slept += time;
            sleep = std::min<WaitHub::Duration>(2 * sleep, longest_sleep);
        }
        if (slept >= max_sleep)
            return Error{
                ErrorCode::system, 0,
                fmt::format("thread {} of the program does not stop: its state in /proc is {}",
                            late[0], read_thread_state(pid_, late[0]).value_or('X'))};
        course.observe(Clock::now());
    }
    return Error{ErrorCode::interrupted, 0,
                 "some threads did not stop in the time that a live sample may take"};
}

std::vector<pid_t> Target::moving() const {
    std::vector<pid_t> tids;
    for (const auto& [tid, thread] : threads_)
        if (!thread.stop && !thread.left_out) tids.push_back(tid);
    return tids;
}

// Takes a status of a thread that was interrupted. Returns whether there was one.
bool Target::take_stop(pid_t tid, StopCourse& course) {
    const auto status = hub_->wait_for(tid, WaitHub::Duration{0});
    if (status && !*status) return false;
    if (!status) {  // the id of a thread that called exec or was detached
        note_end(tid, WaitStatus::decode(SIGKILL));
        return true;
    }
    take_status(tid, **status, true);
    const auto thread = threads_.find(tid);
    if (thread == threads_.end() || !thread->second.stop) return true;
    const auto registers = StoppedThread(*hub_, tid, *thread->second.stop).registers();
    course.note_stop(registers && !blocked_syscall(*registers));
    return true;
}

// Leaves out threads that are dead or wait in the kernel: they do not stop soon. The first process
// of a PID namespace ends only after all others there, of which a tracer may hold some.
void Target::leave_out_immovable(const std::vector<pid_t>& tids) {
    for (const pid_t tid : tids) {
        const auto stat = read_thread_stat(pid_, tid).value_or(ProcStat{.state = 'X'});
        Thread& thread = threads_[tid];
        // A dead leader reports its end only after all other threads.
        thread.dead = tid == pid_ && (stat.state == 'Z' || stat.state == 'X');
        thread.left_out = thread.dead || stat.state == 'D' || stat.is_exiting;
    }
}

void Target::leave_out_late(const std::vector<pid_t>& tids) {
    leave_out_immovable(tids);
    for (const pid_t tid : tids) {
        Thread& thread = threads_[tid];
        if (!thread.left_out) late_.insert(tid);
        thread.left_out = true;
    }
}

// Ends the urgency if no thread stands still, or will when it gets a processor.
void Target::calm_down() {
    if (!held_ && late_.empty()) urgency_.reset();
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
    if (stop_times_.size() == max_stop_times) stop_times_.erase(stop_times_.begin());
    stop_times_.push_back({stop_began_, stop_ended_});
    calm_down();
}

// Takes back the threads of a ScopedStop that ends, whose stops may have changed. A thread that
// slept through the stop may have executed another program meanwhile.
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
