#include "ptrace/target.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "ptrace/fork_server.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/ptrace_call.h"
#include "ptrace/remote_syscall.h"
#include "ptrace/sleep_state.h"
#include "ptrace/syscall_site.h"

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
// How long detach() tries to have left zombies reaped and injected memory unmapped, and how long it
// waits for a thread that can do it unnoticed.
constexpr std::chrono::seconds reap_deadline{20};
constexpr std::chrono::seconds wake_deadline{1};

void interrupt(pid_t tid) {
    static_cast<void>(ptrace_call(PTRACE_INTERRUPT, tid, 0, std::uint64_t{0}, "interrupt"));
}

bool is_child_of_ours(pid_t pid) {
    const auto status = read_proc_status(pid);
    return status && status->parent_pid == ::getpid();
}

// Whether a thread that this stop has woken would sleep on in its system call if it were not
// traced. So it is for a stop of ours, and for an ignored signal, which the kernel drops for
// untraced threads (signal(7)); not for signals that stop the process.
bool wakes_unseen(const WaitStatus& status) {
    constexpr int stopping[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
    if (status.kind() == WaitStatus::Kind::interrupt_stop) return true;
    return status.kind() == WaitStatus::Kind::signal_stop &&
           std::find(std::begin(stopping), std::end(stopping), status.signal()) ==
               std::end(stopping);
}

// SIGSTOP from within its PID namespace does not stop process 1 of it (pid_namespaces(7)); the
// kernel leaves that check to a tracer. si_pid is 0 where the sender is outside.
bool is_immune_to_stop(const StoppedThread& thread) {
    if (read_namespace_pid(thread.tid()).value_or(0) != 1) return false;
    const auto info = thread.signal_info();
    return info && info->si_pid != 0;
}

}  // namespace

std::uint64_t target_ptrace_options(Forks forks) {
    const std::uint64_t births =
        forks == Forks::follow ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0;
    return PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | births;
}

bool InjectedMemory::is_in(const MemoryMap& map) const {
    for (auto at = range.start; at < range.end;) {
        const Mapping* mapping = map.find(at);
        if (!mapping || mapping->inode != inode || !mapping->shared) return false;
        at = mapping->end;
    }
    return true;
}

ScopedStop::ScopedStop(ScopedStop&& other) noexcept
    : target_(std::exchange(other.target_, nullptr)), threads_(std::move(other.threads_)) {}

ScopedStop::~ScopedStop() {
    if (target_) target_->resume_all(threads_);
}

bool ScopedStop::in_group_stop() const {
    return std::any_of(threads_.begin(), threads_.end(), [](const StoppedThread& thread) {
        return thread.status().kind() == WaitStatus::Kind::group_stop;
    });
}

void ScopedStop::detach() && {
    std::exchange(target_, nullptr)->detach_all(threads_);
}

Target::Target(WaitHub& hub, pid_t pid, Forks forks)
    : hub_(&hub), pid_(pid), forks_(forks), is_own_child_(is_child_of_ours(pid)) {}

Target::~Target() {
    static_cast<void>(detach());
}

std::unique_ptr<Target> Target::adopt(WaitHub& hub, const StoppedThread& leader, Forks forks) {
    std::unique_ptr<Target> target(new Target(hub, leader.tid(), forks));
    target->threads_[leader.tid()].stop = leader.status();
    target->note_program();
    return target;
}

std::unique_ptr<Target> Target::take_born(WaitHub& hub, pid_t pid, bool shares_memory) {
    std::unique_ptr<Target> target(new Target(hub, pid, Forks::follow));
    target->is_born_ = true;
    target->shares_memory_ = shares_memory;
    target->threads_[pid];
    return target;
}

void Target::resume() {
    std::vector<StoppedThread> none;
    resume_all(none);
}

bool Target::handle(const WaitEvent& event) {
    if (!threads_.contains(event.pid)) return adopt_unknown(event);
    take_status(event.pid, event.status, held_);
    return true;
}

// A new thread may report its first stop before its parent reports its birth.
bool Target::adopt_unknown(const WaitEvent& event) {
    if (event.status.is_end()) {
        if (event.pid != pid_) return foreign_.erase(event.pid) != 0;
        end_ = event.status;  // of a child of ours that was detached from
        return true;
    }
    if (is_thread_of(pid_, event.pid)) {
        if (detached_) return detach_late(event);
        threads_[event.pid];
        take_status(event.pid, event.status, held_);
        return true;
    }
    if (forks_ == Forks::follow) return false;
    bool foreign = foreign_.erase(event.pid) != 0;
    if (!foreign) {
        const auto status = read_proc_status(event.pid);
        foreign = status && status->parent_pid == pid_;
    }
    if (foreign) static_cast<void>(StoppedThread(*hub_, event.pid, event.status).detach());
    return foreign;
}

// A thread that could not be stopped for the detach, or was born then.
bool Target::detach_late(const WaitEvent& event) {
    const bool in_signal = event.status.kind() == WaitStatus::Kind::signal_stop;
    StoppedThread thread(*hub_, event.pid, event.status);
    static_cast<void>(thread.detach(in_signal ? event.status.signal() : 0));
    return true;
}

void Target::take_status(pid_t tid, const WaitStatus& status, bool stopping) {
    if (status.is_end()) return note_end(tid, status);
    if (status.kind() == WaitStatus::Kind::event_stop) take_event(tid, status.event());
    if (wakes_unseen(status)) {
        StoppedThread thread(*hub_, tid, status);
        static_cast<void>(restart_interrupted_call(thread));
    }
    if (stopping && status.is_trap()) {
        threads_[tid].stop = status;
        return;
    }
    // Another stop takes the place of the one that was asked for.
    if (stopping) interrupt(tid);
    let_go_on(tid, status);
}

void Target::let_go_on(pid_t tid, const WaitStatus& status) {
    StoppedThread thread(*hub_, tid, status);
    int signal = status.kind() == WaitStatus::Kind::signal_stop ? status.signal() : 0;
    if (signal == SIGSTOP && is_immune_to_stop(thread)) signal = 0;
    if (watcher_ && signal != 0) watcher_->on_signal(tid, signal);
    if (watcher_ && status.kind() == WaitStatus::Kind::syscall_stop)
        watcher_->on_syscall_stop(thread);
    const bool watched = watcher_ && watcher_->watches(tid);
    using enum StoppedThread::Advance;
    static_cast<void>(thread.resume(signal, watched ? to_syscall : run));
}

void Target::take_event(pid_t tid, int event) {
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK)
        note_birth(tid, event == PTRACE_EVENT_VFORK);
    if (event == PTRACE_EVENT_EXEC) note_exec();
    // The process still has its memory: replicas and server must be gone before its parent learns
    // of its end.
    if (event == PTRACE_EVENT_EXIT && tid == pid_) end_all_forked();
}

void Target::note_birth(pid_t parent, bool by_vfork) {
    unsigned long message = 0;
    if (!ptrace_call(PTRACE_GETEVENTMSG, parent, 0, &message, "read a ptrace event")) return;
    const auto child = static_cast<pid_t>(message);
    if (threads_.contains(child)) return;
    if (is_thread_of(pid_, child))
        threads_[child];
    else if (forks_ == Forks::follow)
        births_.push_back({child, parent, by_vfork});
    else
        foreign_.insert(child);
}

// The thread that called exec is now the leader, all others are gone.
void Target::note_exec() {
    if (watcher_)
        for (const auto& [tid, thread] : threads_) watcher_->on_thread_end(tid);
    threads_.clear();
    threads_[pid_];
    leader_seized_ = true;
    ++exec_count_;
    executed_command_ = read_command(pid_).value_or(std::vector<std::string>{});
    shares_memory_ = false;
    injected_.clear();
    end_fork_server();
    syscall_instruction_.reset();
    note_program();
}

void Target::note_program() {
    const auto kind = read_exe_kind(pid_);
    if (kind) is_supported_ = *kind != ProgramKind::elf_other;
}

void Target::note_end(pid_t tid, const WaitStatus& status) {
    threads_.erase(tid);
    if (watcher_) watcher_->on_thread_end(tid);
    // A leader that is not seized does not report its end; the last thread's stands for it.
    const bool last = tid == pid_ || (!leader_seized_ && threads_.size() == 1);
    if (!last) return;
    end_ = status;
    threads_.clear();
    end_fork_server();
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
    if (!call || call->is_futex_wait()) return false;
    if (sleepers != Sleepers::leave_alone && !is_stop_visible(pid_, *call)) return false;
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
        let_go_on(tid, *stop);
    }
}

// The threads of a ScopedStop that ends: their stops may have become others.
void Target::take_back(std::vector<StoppedThread>& threads) {
    held_ = false;
    for (const StoppedThread& thread : threads) {
        const auto it = threads_.find(thread.tid());
        if (it != threads_.end()) it->second.stop = thread.status();
    }
}

bool Target::is_asleep() const {
    return std::none_of(threads_.begin(), threads_.end(), [this](const auto& entry) {
        return read_thread_state(pid_, entry.first).value_or('X') == 'R';
    });
}

Result<void> Target::detach(Sleepers sleepers) {
    if (end_ || detached_) return {};
    end_fork_server();
    for (const auto deadline = Clock::now() + reap_deadline;; keep_going_for(milliseconds(1))) {
        const bool last = !leaves_something() || Clock::now() > deadline;
        auto stop = stop_to_detach(sleepers);
        if (end_) return {};
        if (!stop) return std::move(stop).error();
        TRY(clean_up(*stop));
        if (leaves_something() && !last) continue;
        (*std::move(stop)).detach();
        return {};
    }
}

// A stop for the detach. If something must be cleaned up it waits for a thread that can do it
// unnoticed; after `wake_deadline` any sleeper is stopped.
Result<ScopedStop> Target::stop_to_detach(Sleepers sleepers) {
    if (sleepers == Sleepers::stop || !leaves_something()) return this->stop(sleepers);
    const auto deadline = Clock::now() + wake_deadline;
    while (Clock::now() < deadline) {
        {
            auto stop = this->stop(Sleepers::stop_unseen);
            if (!stop || !stop->threads().empty()) return stop;
        }
        keep_going_for(milliseconds(10));
    }
    return this->stop(Sleepers::stop);
}

void Target::keep_going_for(std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
    std::vector<WaitEvent> others;
    while (const auto event = hub_->poll())
        if (!handle(*event)) others.push_back(*event);
    for (auto it = others.rbegin(); it != others.rend(); ++it) hub_->put_back(*it);
}

Result<void> Target::clean_up(ScopedStop& stop) {
    if (!leaves_something() || stop.threads().empty()) return {};
    TRY_ASSIGN(const GuestAddress instruction, syscall_instruction());
    for (StoppedThread& thread : stop.threads()) {
        auto session = RemoteSyscall::begin(thread, instruction, ptrace_options());
        if (!session) continue;
        if (!zombies_->empty()) TRY(reap_zombies(*session, *zombies_));
        TRY(unmap_injected(*session, thread.tid()));
        return session->finish();
    }
    return {};
}

// What the program has put in its place since, or unmapped, is its own affair.
Result<void> Target::unmap_injected(RemoteSyscall& session, pid_t tid) {
    if (injected_.empty()) return {};
    TRY_ASSIGN(const MemoryMap map, read_memory_map(tid));
    for (const auto& memory : injected_) {
        if (!memory.is_in(map)) continue;
        TRY(session.call(SYS_munmap,
                         {memory.range.start.value, memory.range.end - memory.range.start}));
    }
    injected_.clear();
    return {};
}

void Target::detach_all(std::vector<StoppedThread>& threads) {
    take_back(threads);
    detached_ = true;
    for (const auto& [tid, thread] : threads_) {
        if (thread.stop) static_cast<void>(StoppedThread(*hub_, tid, *thread.stop).detach());
    }
    threads_.clear();
}

pid_t Target::live_thread_id() const {
    const auto live = std::find_if(threads_.begin(), threads_.end(),
                                   [](const auto& entry) { return !entry.second.dead; });
    return live == threads_.end() ? pid_ : live->first;
}

// A process with a fork server stops before its parent sees its end: the server must be gone by
// then.
std::uint64_t Target::ptrace_options() const {
    const std::uint64_t exits = fork_server_ ? PTRACE_O_TRACEEXIT : 0;
    return target_ptrace_options(forks_) | exits;
}

Result<ForkServer*> Target::fork_server(ScopedStop& stop) {
    if (fork_server_) return fork_server_.get();
    TRY_ASSIGN(fork_server_, ForkServer::start(stop));
    for (const StoppedThread& thread : stop.threads())
        if (thread.tid() == pid_)
            TRY(ptrace_call(PTRACE_SETOPTIONS, pid_, 0, ptrace_options(), "set ptrace options"));
    return fork_server_.get();
}

// Whoever waits for the process may rely on its mappings and its executable being free, so replicas
// end first. Where we are its parent nobody else waits.
void Target::end_all_forked() {
    if (fork_server_ && !is_own_child_) fork_server_->end_replicas();
    end_fork_server();
}

void Target::end_fork_server() {
    fork_server_.reset();
}

Result<GuestAddress> Target::syscall_instruction() {
    ProcessMemory memory(live_thread_id());
    if (syscall_instruction_ && is_syscall_instruction(memory, *syscall_instruction_))
        return *syscall_instruction_;
    TRY_ASSIGN(const MemoryMap map, read_memory_map(live_thread_id()));
    syscall_instruction_ = find_syscall_instruction(map, memory);
    if (syscall_instruction_) return *syscall_instruction_;
    return Error{ErrorCode::unsupported, 0, "the target maps no syscall instruction"};
}

}  // namespace shadowprof
