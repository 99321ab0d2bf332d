// The profiled process: all of its threads under ptrace, whatever they do.
//
// While the target runs, the owner's event loop takes statuses from the WaitHub and hands them to
// handle(), which keeps the target going: its signals are delivered at once, new threads go on, a
// group stop stays one. stop() stops every thread; the ScopedStop resumes them when it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/memory_map.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "base/urgency.h"
#include "ptrace/remote/forks.h"
#include "ptrace/remote/syscall_site.h"
#include "ptrace/remote/zombies.h"
#include "ptrace/target/sleep_state.h"
#include "ptrace/target/stop_course.h"
#include "ptrace/target/wake_rate.h"
#include "ptrace/thread/companion.h"
#include "ptrace/thread/stopped_thread.h"
#include "ptrace/thread/syscall_watcher.h"
#include "ptrace/thread/wait_hub.h"

namespace shadowprof {

class RemoteSyscall;
class Target;

// What was mapped into a target and is to be taken out before it is let go.
struct InjectedMemory {
    MemoryRange range;
    std::uint64_t inode = 0;  // of its file

    // All of it is there, and nothing else in its place.
    bool is_in(const MemoryMap& map) const;
};

// All threads of a target standing still, from construction to the end of its life. Not among them
// are threads that cannot be stopped, being dead or uninterruptible in the kernel (as a parent is
// between vfork and exec), threads that sleep and are not to be woken (Target::Sleepers), and those
// that are late (StopLimits). They execute nothing in user mode; sleepers may wake up.
class ScopedStop {
  public:
    ScopedStop(ScopedStop&& other) noexcept;
    ScopedStop& operator=(ScopedStop&&) = delete;
    // Every thread goes on; signals that came meanwhile are delivered.
    ~ScopedStop();

    Target& target() const { return *target_; }
    // The leader first if it is among them. May be empty when the target is just dying.
    std::vector<StoppedThread>& threads() { return threads_; }
    // The whole process is stopped by a signal, as by Ctrl-Z, and stays so after the resume.
    bool in_group_stop() const;

    // Ends the tracing instead: the threads go on as if shadowprof had never been there.
    void detach() &&;

  private:
    friend class Target;
    ScopedStop(Target& target, std::vector<StoppedThread> threads)
        : target_(&target), threads_(std::move(threads)) {}

    Target* target_;
    std::vector<StoppedThread> threads_;
};

// Finds targets among related processes.
class Relatives {
  public:
    virtual ~Relatives() = default;
    // Null where the process is not one of them, or has ended.
    virtual Target* find_process(pid_t pid) const = 0;
};

class Target {
  public:
    // Attaches to every thread of a running process, which is stopped once and then runs on.
    // Errors say why and what to do: not_found, permission, unsupported.
    static Result<std::unique_ptr<Target>> attach(WaitHub& hub, pid_t pid,
                                                  Forks forks = Forks::detach);

    // Takes over a child that launch() has seized and that stands in the trap of `leader`. It stays
    // there until resume() or the end of the first stop(). `forks` must be as at the launch.
    static std::unique_ptr<Target> adopt(WaitHub& hub, const StoppedThread& leader,
                                         Forks forks = Forks::detach);

    // Takes over a process that was born of a target that follows its forks, and has one thread.
    // It goes on when its first status is handled. `shares_memory`: with its parent, as after
    // vfork.
    static std::unique_ptr<Target> take_born(WaitHub& hub, pid_t pid, bool shares_memory);

    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    // Lets go of the target, which runs on.
    ~Target();

    pid_t pid() const { return pid_; }
    WaitHub& hub() const { return *hub_; }
    // shadowprof is the target's real parent.
    bool is_own_child() const { return is_own_child_; }

    Forks forks() const { return forks_; }
    // It came by take_born().
    bool is_born() const { return is_born_; }
    // It may share its memory with its parent, which perhaps runs: a snapshot of it would show what
    // never was. Ends with its exec.
    bool shares_memory() const { return shares_memory_; }
    void note_shared_memory() { shares_memory_ = exec_count_ == 0; }
    bool has_thread(pid_t tid) const { return threads_.contains(tid); }

    // A thread through which /proc and memory of the process can be read: the leader, or where that
    // has ended before its threads, another.
    pid_t live_thread_id() const;

    // Deals with a status from the hub. False if it is of a process that is not this target's.
    bool handle(const WaitEvent& event);

    // Processes that were born of its threads since the last call, if their forks are followed.
    // Each is traced, and stops or has stopped before its first instruction.
    struct Birth {
        pid_t pid = 0;
        pid_t thread = 0;  // of the target, that bore it
        bool by_vfork = false;
    };
    std::vector<Birth> take_births() { return std::exchange(births_, {}); }

    // How the process ended, once it has.
    const std::optional<WaitStatus>& end() const { return end_; }
    // Counts executions of new programs: whatever is known of mappings and code is then stale.
    std::uint64_t exec_count() const { return exec_count_; }
    // The command of the last of them, as it was before it could run; empty before the first.
    const std::vector<std::string>& executed_command() const { return executed_command_; }
    // False once it executes a program that is not for x86-64: the owner should detach.
    bool is_supported() const { return is_supported_; }
    bool is_detached() const { return detached_; }
    std::size_t thread_count() const { return threads_.size(); }
    std::vector<pid_t> thread_ids() const;
    // No thread was on a processor or waited for one just now. Disturbs nobody.
    bool is_asleep() const;
    // One of them runs on this processor, or waits for it.
    bool is_ready_on(int processor) const;

    // What to do about threads asleep in a system call (sleep_state.h).
    enum class Sleepers : std::uint8_t {
        leave_rarely_woken,  // as leave_alone, and futex waits of threads that seldom wake up, too
        leave_alone,         // all sleep on, but for futex waits
        stop_unseen,         // only those are stopped that cannot notice
        stop,                // all are stopped
    };

    // Stops all threads. Not while another ScopedStop lives.
    // Errors: gone (the process has ended or is about to); system (a thread does not stop);
    // interrupted (the limits are passed; all go on).
    Result<ScopedStop> stop(Sleepers sleepers = Sleepers::stop_unseen, StopLimits limits = {});

    // Threads were late for the last one, and have not stopped since.
    bool has_late() const { return !late_.empty(); }
    // In a stop: while it is held, the calling thread stays as urgent as it is in the stop.
    std::shared_ptr<const Urgency> urgency() const { return urgency_; }
    // Since when a thread stood still that would have run, at the last stop(): see StopCourse.
    std::chrono::steady_clock::time_point stop_began() const { return stop_began_; }
    // At the last stop(), none of the threads that would run had a processor, and some came late.
    // Who takes the first that comes by then takes those too often that are given one often, and
    // for a short time.
    bool had_no_processor() const { return had_no_processor_; }
    // From then until the last thread was told to go on. Not until that call returned: a thread
    // that wakes up on this processor takes it from us, and runs.
    std::chrono::nanoseconds last_pause() const { return stop_ended_ - stop_began_; }

    // Lets threads go that stand still since launch() or adopt().
    void resume();

    // From each thread's next resume on, `watcher` sees the system calls that it asks for; null:
    // nobody does. It must outlive the target, or be taken away.
    void watch_syscalls(SyscallWatcher* watcher) { watcher_ = watcher; }

    // Unmaps what was injected, has zombies reaped, and ends the tracing. Threads that cannot be
    // stopped, or are left alone, stay attached until the calling thread ends; then the kernel lets
    // them go without waking them. If something is to be taken back and all threads sleep, one that
    // does not notice is stopped, after a second any. Errors: those of stop() and of RemoteSyscall.
    // No effect on a target that has ended or is detached.
    Result<void> detach(Sleepers sleepers = Sleepers::stop);

    // A `syscall` instruction in the target's code, verified to be there now. Where there is a
    // choice, one that is followed by a return, so that a thread without a stack dies at once.
    Result<GuestAddress> syscall_instruction();

    // Code for the way home of a borrowed thread, verified to be there now, if there is any.
    std::optional<ReturnCode> return_code();

    // Who knows the processes that came of the same first one; null: nobody. It must outlive the
    // target.
    void set_relatives(const Relatives* relatives) { relatives_ = relatives; }
    const Relatives* relatives() const { return relatives_; }

    // Whether it inherits orphans: what it answered last (orphan_heir.h). Not set: it was not
    // asked.
    std::optional<bool> inherits_orphans() const { return inherits_orphans_; }
    void note_inherits_orphans(bool inherits) { inherits_orphans_ = inherits; }

    // PTRACE_O_... of its threads, with PTRACE_O_TRACEEXIT while there is a companion.
    std::uint64_t ptrace_options() const;

    // Borrows one of its threads that stand still for calls of ours. With a way home
    // (RemoteSyscall::has_way_home) the thread goes on unharmed if we die at any moment, and no
    // process remains that it bore. There is one wherever it can be laid.
    // Errors: those of RemoteSyscall::begin() and of syscall_instruction().
    Result<RemoteSyscall> borrow(StoppedThread& thread);
    // Finds what the first call of it needs, while the target runs.
    void prepare_borrowing();

    // Ends before the program does, before an exec, and before the detach. Null: there is none.
    Companion* companion() const { return companion_.get(); }
    void keep(std::unique_ptr<Companion> companion) { companion_ = std::move(companion); }
    void end_companion();
    // So that the companion ends in time: asks to be told of the end before anybody else is.
    Result<void> ask_for_end(ScopedStop& stop);

    // Dead children that the target has not reaped yet, left from making a fork server.
    const Zombies& zombies() const { return zombies_; }

    // From now on this is taken out when the target is let go, unless it has executed another
    // program, or unmapped it, by then.
    void note_injected(const InjectedMemory& memory) { injected_.push_back(memory); }

  private:
    friend class ScopedStop;
    struct Thread {
        std::optional<WaitStatus> stop;  // not set: it runs, or is on its way to a stop
        bool left_out = false;           // of the current stop
        bool dead = false;               // a leader that ended before its other threads
        std::optional<RestartedCall> restarted;
        WakeRate wakes;
        bool waits_for_futex = false;  // before the last stop
    };

    Target(WaitHub& hub, pid_t pid, Forks forks);
    Result<void> seize_all();
    Result<bool> seize_those_in_the_making();
    Result<bool> seize_new();
    Result<void> seize(pid_t tid);
    bool has_uninterruptible() const;
    std::optional<SleepingCall> look_at(pid_t tid, Thread& thread) const;
    bool is_left_asleep(pid_t tid, const std::optional<SleepingCall>& call,
                        Sleepers sleepers) const;
    static void interrupt(pid_t tid);
    void interrupt_all(Sleepers sleepers);
    void take_status(pid_t tid, const WaitStatus& status, bool stopping);
    void take_event(pid_t tid, int event);
    void note_birth(pid_t parent, bool by_vfork);
    void note_exec();
    void note_program();
    void note_end(pid_t tid, const WaitStatus& status);
    bool adopt_unknown(const WaitEvent& event);
    bool detach_late(const WaitEvent& event);
    void resume_one(pid_t tid, const WaitStatus& status);
    Result<void> settle_all(StopCourse& course);
    std::vector<pid_t> moving() const;
    bool take_stop(pid_t tid, StopCourse& course);
    void leave_out_immovable(const std::vector<pid_t>& tids);
    void leave_out_late(const std::vector<pid_t>& tids);
    void calm_down();
    Result<ScopedStop> stop_to_detach(Sleepers sleepers);
    void keep_going_for(std::chrono::milliseconds time);
    bool leaves_something() const { return !zombies_->empty() || !injected_.empty(); }
    Result<void> clean_up(ScopedStop& stop);
    Result<void> unmap_injected(RemoteSyscall& session, pid_t tid);
    void resume_all(std::vector<StoppedThread>& threads);
    void end_all_forked();
    void take_back(std::vector<StoppedThread>& threads);
    void detach_all(std::vector<StoppedThread>& threads);

    WaitHub* hub_;
    pid_t pid_;
    Forks forks_;
    bool is_own_child_;
    bool is_born_ = false;
    bool shares_memory_ = false;
    bool is_supported_ = true;
    bool leader_seized_ = true;
    bool held_ = false;  // a ScopedStop lives
    // While one does, and until those have stopped and gone on that were late for it.
    std::shared_ptr<const Urgency> urgency_;
    std::weak_ptr<const Urgency> last_urgency_;  // which somebody may hold on to
    std::set<pid_t> late_;
    bool detached_ = false;
    std::uint64_t exec_count_ = 0;
    std::vector<std::string> executed_command_;
    std::chrono::steady_clock::time_point stop_began_, stop_ended_;
    bool had_no_processor_ = false;
    SyscallWatcher* watcher_ = nullptr;
    const Relatives* relatives_ = nullptr;
    std::optional<bool> inherits_orphans_;
    std::optional<WaitStatus> end_;
    std::optional<GuestAddress> syscall_instruction_;
    std::optional<ReturnCode> return_code_;
    bool has_no_return_code_ = false;  // as it was looked for
    std::map<pid_t, Thread> threads_;
    std::set<pid_t> foreign_;  // born of a thread, traced by the kernel's doing, to be let go
    std::vector<Birth> births_;
    std::vector<InjectedMemory> injected_;
    bool end_is_asked_for_ = false;  // PTRACE_O_TRACEEXIT, by which the companion ends in time
    std::unique_ptr<Companion> companion_;
    Zombies zombies_ = std::make_shared<std::vector<pid_t>>();
};

}  // namespace shadowprof
