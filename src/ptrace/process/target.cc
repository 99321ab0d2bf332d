#include "ptrace/process/target.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "ptrace/proc/proc.h"
#include "ptrace/process/sleep_state.h"
#include "ptrace/remote/remote_syscall.h"
#include "ptrace/remote/syscall_site.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

bool is_child_of_ours(pid_t pid) {
    const auto status = read_proc_status(pid);
    return status && status->parent_pid == ::getpid();
}

// SIGSTOP from within a PID namespace does not stop the first process there (pid_namespaces(7)).
// The kernel leaves that check to a tracer. si_pid is 0 if the sender is outside.
bool is_immune_to_stop(pid_t pid, const StoppedThread& thread) {
    if (read_namespace_pid(pid).value_or(0) != 1) return false;
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
    if (!event.status.is_end() && event.status.kind() != WaitStatus::Kind::syscall_stop)
        ++event_stops_;
    if (!threads_.contains(event.pid)) return adopt_unknown(event);
    take_status(event.pid, event.status, held_);
    calm_down();
    return true;
}

// A new thread may report its first stop before its parent reports its birth.
bool Target::adopt_unknown(const WaitEvent& event) {
    if (event.status.is_end()) {
        if (event.pid != pid_) return foreign_.erase(event.pid) != 0;
        note_unseen_end(event.status);  // the end of our child, after the detach
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

void Target::take_status(pid_t tid, const WaitStatus& status, bool stopping) {
    late_.erase(tid);
    if (status.is_end()) return note_end(tid, status);
    if (status.kind() == WaitStatus::Kind::event_stop) take_event(tid, status.event());
    StoppedThread thread(*hub_, tid, status);
    static_cast<void>(restart_interrupted_call(thread, threads_[tid].restarted));
    if (stopping && status.is_trap()) {
        threads_[tid].stop = status;
        return;
    }
    // Another stop has replaced the requested one.
    if (stopping) interrupt(tid);
    resume_one(tid, status);
}

void Target::resume_one(pid_t tid, const WaitStatus& status) {
    StoppedThread thread(*hub_, tid, status);
    int signal = status.kind() == WaitStatus::Kind::signal_stop ? status.signal() : 0;
    if (signal == SIGSTOP && is_immune_to_stop(pid_, thread)) signal = 0;
    if (signal != 0 && would_survive(thread, signal)) return let_die(thread, signal);
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
    // The process still has its memory. Replicas and server must be gone before its parent learns
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

// The thread that called exec is now the leader. All others are gone.
void Target::note_exec() {
    if (watcher_)
        for (const auto& [tid, thread] : threads_) watcher_->on_thread_end(tid);
    note_ends_of_all_but(pid_);
    const auto leader = threads_.find(pid_);
    const auto began = leader == threads_.end() ? Thread().began : leader->second.began;
    threads_.clear();
    late_.clear();
    threads_[pid_].began = began;
    leader_seized_ = true;
    ++exec_count_;
    executed_command_ = read_command(pid_).value_or(std::vector<std::string>{});
    shares_memory_ = false;
    injected_.clear();
    end_companion();
    syscall_instruction_.reset();
    return_code_.reset();
    has_no_return_code_ = false;
    note_program();
}

void Target::note_program() {
    const auto kind = read_exe_kind(pid_);
    if (kind) is_supported_ = *kind != ProgramKind::elf_other;
}

// Pass 0 for all.
void Target::note_ends_of_all_but(pid_t tid) {
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [each, thread] : threads_)
        if (each != tid) ended_threads_.add({each, thread.began, now});
}

std::vector<ThreadLife> Target::thread_lives() const {
    auto lives = ended_threads_.list();
    for (const auto& [tid, thread] : threads_) lives.push_back({tid, thread.began, std::nullopt});
    if (let_go_)
        for (const auto& [tid, began] : let_go_->began) lives.push_back({tid, began, std::nullopt});
    return lives;
}

void Target::note_end(pid_t tid, const WaitStatus& status) {
    if (const auto ended = threads_.find(tid); ended != threads_.end())
        ended_threads_.add({tid, ended->second.began, std::chrono::steady_clock::now()});
    threads_.erase(tid);
    late_.erase(tid);
    if (watcher_) watcher_->on_thread_end(tid);
    // A leader that is not seized does not report its end, so the last thread's end counts.
    const bool last = tid == pid_ || (!leader_seized_ && threads_.size() == 1);
    if (!last) return;
    end_ = status;
    note_ends_of_all_but(0);
    threads_.clear();
    late_.clear();
    end_companion();
}

bool Target::is_asleep() const {
    return std::ranges::none_of(thread_ids(), [this](pid_t tid) {
        return read_thread_state(pid_, tid).value_or('X') == 'R';
    });
}

bool Target::is_ready_on(int processor) const {
    return std::ranges::any_of(thread_ids(), [&](pid_t tid) {
        const auto stat = read_thread_stat(pid_, tid);
        return stat && stat->state == 'R' && stat->cpu == processor;
    });
}

pid_t Target::live_thread_id() const {
    const auto live = std::find_if(threads_.begin(), threads_.end(),
                                   [](const auto& entry) { return !entry.second.dead; });
    return live == threads_.end() ? pid_ : live->first;
}

std::vector<pid_t> Target::thread_ids() const {
    if (let_go_) return read_thread_ids(pid_).value_or(std::vector<pid_t>{});
    std::vector<pid_t> ids;
    for (const auto& [tid, thread] : threads_)
        if (!thread.dead) ids.push_back(tid);
    return ids;
}

// A process with a companion stops before its parent sees its end, so that the companion can end
// first.
std::uint64_t Target::ptrace_options() const {
    const std::uint64_t exits = companion_ ? PTRACE_O_TRACEEXIT : 0;
    const std::uint64_t death = dies_with_tracer_ ? PTRACE_O_EXITKILL : 0;
    return target_ptrace_options(forks_) | exits | death;
}

Result<RemoteSyscall> Target::borrow(StoppedThread& thread) {
    TRY_ASSIGN(const GuestAddress instruction, syscall_instruction());
    return RemoteSyscall::borrow(thread, instruction, return_code(), ptrace_options());
}

void Target::prepare_borrowing() {
    static_cast<void>(syscall_instruction());
    has_no_return_code_ = false;
    static_cast<void>(return_code());
}

// The leader may have slept through the stop in which the companion was made. The option is then
// set in a later stop.
Result<void> Target::ask_for_end(ScopedStop& stop) {
    if (end_is_asked_for_) return {};
    for (const StoppedThread& thread : stop.threads()) {
        if (thread.tid() != pid_) continue;
        TRY(ptrace_call(PTRACE_SETOPTIONS, pid_, 0, ptrace_options(), "set ptrace options"));
        end_is_asked_for_ = true;
    }
    return {};
}

// Replicas end first, because a process that waits for the target may rely on its mappings and its
// executable being free. If we are the parent, no other process waits.
void Target::end_all_forked() {
    if (companion_ && !is_own_child_) companion_->end_replicas();
    end_companion();
}

void Target::end_companion() {
    companion_.reset();
    end_is_asked_for_ = false;
}

Result<GuestAddress> Target::syscall_instruction() {
    ProcessMemory memory(live_thread_id());
    if (syscall_instruction_ && is_syscall_instruction(memory, *syscall_instruction_))
        return *syscall_instruction_;
    TRY_ASSIGN(const MemoryMap map, read_memory_map(live_thread_id()));
    syscall_instruction_ = find_syscall_instruction(map, memory);
    if (syscall_instruction_) return *syscall_instruction_;
    return Error{ErrorCode::unsupported, 0,
                 "the program's code has no SYSCALL instruction that shadowprof could use"};
}

std::optional<ReturnCode> Target::return_code() {
    ProcessMemory memory(live_thread_id());
    if (return_code_ && is_return_code(memory, *return_code_)) return return_code_;
    if (!return_code_ && std::exchange(has_no_return_code_, true)) return std::nullopt;
    const auto map = read_memory_map(live_thread_id());
    return_code_ = map ? find_return_code(*map, memory) : std::nullopt;
    return return_code_;
}

}  // namespace shadowprof
