// Target::attach: seizes every thread of a process that runs on meanwhile.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "ptrace/proc/attach_refusal.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

// A thread that is uninterruptible for longer, as a parent is after vfork, creates no threads.
constexpr int max_passes = 100;
constexpr std::chrono::milliseconds between_passes{1};

// ptrace relates to the calling thread, not to the process.
bool is_traced_by_us(pid_t tid) {
    const auto status = read_proc_status(tid);
    return status && status->tracer_pid == ::gettid();
}

bool is_dead(pid_t pid, pid_t tid) {
    const char state = read_thread_state(pid, tid).value_or('X');
    return state == 'Z' || state == 'X';
}

}  // namespace

Result<std::unique_ptr<Target>> Target::attach(WaitHub& hub, pid_t pid, Forks forks) {
    TRY(check_attachable(pid));
    std::unique_ptr<Target> target(new Target(hub, pid, forks));
    TRY(target->seize_all());
    return target;
}

// A thread that is seized in the middle of a clone(2) creates another one that is not seized. So
// all threads are seized only when no new one is found while the known ones are stopped.
Result<void> Target::seize_all() {
    TRY(seize_new());
    for (int pass = 0; pass < max_passes; ++pass) {
        TRY_ASSIGN(const bool complete, seize_those_in_the_making());
        if (complete) return {};
        std::this_thread::sleep_for(between_passes);
    }
    return {};
}

// Returns true if it is certain that no thread is missing.
Result<bool> Target::seize_those_in_the_making() {
    TRY_ASSIGN(const ScopedStop stop, this->stop(Sleepers::leave_alone));
    TRY_ASSIGN(const bool found_new, seize_new());
    return !found_new && !has_uninterruptible();
}

// Seizes the threads that are not known yet. Returns whether there were any.
Result<bool> Target::seize_new() {
    TRY_ASSIGN(const auto tids, read_thread_ids(pid_));
    const std::size_t known = threads_.size();
    for (const pid_t tid : tids) {
        if (!threads_.contains(tid)) TRY(seize(tid));
    }
    if (threads_.size() == (leader_seized_ ? 0 : 1)) return explain_seize_failure(pid_, ESRCH);
    return threads_.size() != known;
}

Result<void> Target::seize(pid_t tid) {
    const auto seized = ptrace_call(PTRACE_SEIZE, tid, 0, ptrace_options(), "PTRACE_SEIZE");
    // A thread created by a seized one is seized already. So is one that slept when the target was
    // let go.
    if (seized || ((tid != pid_ || let_go_) && is_traced_by_us(tid))) {
        threads_[tid];
        return {};
    }
    if (!is_dead(pid_, tid)) return explain_seize_failure(pid_, seized.error().sys_errno);
    if (tid == pid_) {  // the leader has ended, its threads live on
        leader_seized_ = false;
        threads_[tid].dead = true;
    }
    return {};
}

bool Target::has_uninterruptible() const {
    return std::any_of(threads_.begin(), threads_.end(), [this](const auto& entry) {
        const auto& [tid, thread] = entry;
        return thread.left_out && !thread.dead && read_thread_state(pid_, tid).value_or('X') == 'D';
    });
}

}  // namespace shadowprof
