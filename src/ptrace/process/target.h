// The profiled process: all of its threads under ptrace, whatever they do.
//
// While the target runs, the owner's event loop takes statuses from the WaitHub and passes them to
// handle(), which keeps the target going: its signals are delivered at once, new threads go on, and
// a group stop stays one. stop() stops every thread. The ScopedStop resumes them when it ends.
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

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "base/urgency.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/sleep_state.h"
#include "ptrace/process/stop_course.h"
#include "ptrace/process/thread_look.h"
#include "ptrace/process/wake_rate.h"
#include "ptrace/remote/forks.h"
#include "ptrace/remote/syscall_site.h"
#include "ptrace/remote/zombies.h"
#include "ptrace/thread/companion.h"
#include "ptrace/thread/stopped_thread.h"
#include "ptrace/thread/syscall_watcher.h"
#include "ptrace/thread/thread_lives.h"
#include "ptrace/thread/wait_hub.h"
#include "ptrace/unwind/stack_copy.h"

namespace shadowprof {

class RemoteSyscall;
class Target;

// Memory that was mapped into a target and has to be unmapped when the target is let go.
struct InjectedMemory {
    MemoryRange range;
    std::uint64_t inode = 0;  // identifies the mapped file

    // Whether all of it is there, with nothing else in its place.
    bool is_in(const MemoryMap& map) const;
};

// All threads of a target, stopped during the lifetime of this object. Left out are threads that
// cannot be stopped, because they are dead or uninterruptible in the kernel (as a parent is between
// vfork and exec), sleeping threads that must not be woken (Target::Sleepers), and late threads
// (StopLimits). These execute nothing in user mode, except that sleepers may wake up.
class ScopedStop {
  public:
    ScopedStop(ScopedStop&& other) noexcept;
    ScopedStop& operator=(ScopedStop&&) = delete;
    // Resumes every thread. Signals that arrived meanwhile are delivered.
    ~ScopedStop();

    Target& target() const { return *target_; }
    // The leader comes first if it is among them. May be empty if the target is about to end.
    std::vector<StoppedThread>& threads() { return threads_; }
    // Whether the whole process is stopped by a signal, as by Ctrl-Z. It stays so after the resume.
    bool in_group_stop() const;

    // Ends the tracing. The threads go on as if shadowprof had never been there.
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
    // Returns null if the process is not one of them, or has ended.
    virtual Target* find_process(pid_t pid) const = 0;
};

class Target {
  public:
    // Attaches to every thread of a running process, which is stopped once and then runs on. Errors
    // give the reason and a remedy: not_found, permission, unsupported.
    static Result<std::unique_ptr<Target>> attach(WaitHub& hub, pid_t pid,
                                                  Forks forks = Forks::detach);

    // Takes over a child that launch() has seized and that is in the trap of `leader`. It stays
    // there until resume() or the end of the first stop(). `forks` must be the same as at the
    // launch.
    static std::unique_ptr<Target> adopt(WaitHub& hub, const StoppedThread& leader,
                                         Forks forks = Forks::detach);

    // Takes over a process with one thread that a target with followed forks has created. It goes
    // on when its first status is handled. `shares_memory`: it shares memory with its parent, as
    // after vfork.
    static std::unique_ptr<Target> take_born(WaitHub& hub, pid_t pid, bool shares_memory);

    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    // Detaches from the target, which runs on.
    ~Target();

    pid_t pid() const { return pid_; }
    WaitHub& hub() const { return *hub_; }
    // Whether shadowprof is the target's real parent.
    bool is_own_child() const { return is_own_child_; }

    Forks forks() const { return forks_; }
    // Whether it was made by take_born().
    bool is_born() const { return is_born_; }
    // Whether it may share memory with its parent, which may run: a snapshot could then show a
    // state that never existed. False after its exec.
    bool shares_memory() const { return shares_memory_; }
    void note_shared_memory() { shares_memory_ = exec_count_ == 0; }
    bool has_thread(pid_t tid) const { return threads_.contains(tid); }

    // Whether a signal would not end the process, of a fault that `thread` is stopped at, because
    // it is the first process of a PID namespace and is traced. It then faults for ever. Untraced,
    // it ends, once rewind_fault() was called.
    bool would_survive(const StoppedThread& thread, int signal);
    // Has `thread`, which is stopped at a signal of a fault, execute the instruction once more.
    static Result<void> rewind_fault(StoppedThread& thread);

    // Returns a thread through which /proc and the memory of the process can be read: the leader,
    // or another one if the leader has ended before its threads.
    pid_t live_thread_id() const;

    // Handles a status from the hub. Returns false if it is of a process that is not this target's.
    bool handle(const WaitEvent& event);

    // Returns the processes that its threads have created since the last call, if forks are
    // followed. Each is traced, and stops or has stopped before its first instruction.
    struct Birth {
        pid_t pid = 0;
        pid_t thread = 0;  // the target's thread that created it
        bool by_vfork = false;
    };
    std::vector<Birth> take_births() { return std::exchange(births_, {}); }

    // How the process ended, if it has.
    const std::optional<WaitStatus>& end() const { return end_; }
    // Counts executions of new programs. Each makes all knowledge of mappings and code stale.
    std::uint64_t exec_count() const { return exec_count_; }
    // The command of the last executed program, read before it could run. Empty before the first
    // exec.
    const std::vector<std::string>& executed_command() const { return executed_command_; }
    // False once it executes a program that is not for x86-64. The owner should then detach.
    bool is_supported() const { return is_supported_; }
    // Whether it is traced no longer, and will not be again.
    bool is_detached() const { return detached_ && !let_go_; }
    std::size_t thread_count() const { return threads_.size(); }
    std::vector<pid_t> thread_ids() const;
    // Its threads from first to last, but for some that have ended.
    std::vector<ThreadLife> thread_lives() const;
    std::uint64_t thread_lives_left_out() const { return ended_threads_.left_out(); }
    // Whether no thread is on a processor or waits for one. Disturbs no thread.
    bool is_asleep() const;
    // Whether one of its threads runs on this processor or waits for it.
    bool is_ready_on(int processor) const;

    // What to do about threads asleep in a system call (sleep_state.h).
    enum class Sleepers : std::uint8_t {
        leave_rarely_woken,  // like leave_alone, and leave futex waits that seldom wake up
        leave_alone,         // leave all asleep except in futex waits
        stop_unseen,         // stop only those that cannot notice it
        stop,                // stop all
    };

    // Stops all threads. Not while another ScopedStop lives. Errors: gone (the process has ended or
    // is about to); system (a thread does not stop); interrupted (the limits are exceeded; all
    // threads go on).
    Result<ScopedStop> stop(Sleepers sleepers = Sleepers::stop_unseen, StopLimits limits = {});

    // Whether a thread is on a processor or ready for one, and is not stopped. Takes a few
    // microseconds.
    bool is_active(pid_t tid);
    // Where a thread sleeps, as far as that can be told without a stop. Nothing if it does not
    // sleep in a system call, or has stopped. Takes a few microseconds.
    std::optional<SleepingThread> sleep_of(pid_t tid);
    // Returns where an active thread is, and copies `bytes` of its stack (StackCopy::take), for
    // which it stands still for some ten microseconds. Not while a ScopedStop lives. Errors: gone
    // (the thread has ended); interrupted (it stops for another reason).
    Result<ThreadLook> look(pid_t tid, StackCopy& stack, std::size_t bytes);
    // A thread that has not stopped by then was ready without a processor, or at work in the
    // kernel.
    static constexpr std::chrono::microseconds longest_look{500};

    // Whether threads were late for the last stop and have not stopped since.
    bool has_late() const { return !late_.empty(); }
    // Call it during a stop. While the result is held, the calling thread stays as urgent as in the
    // stop.
    std::shared_ptr<const Urgency> urgency() const { return urgency_; }
    // Since when a runnable thread stood still at the last stop(): see StopCourse.
    std::chrono::steady_clock::time_point stop_began() const { return stop_began_; }
    // Whether at the last stop() none of the runnable threads had a processor, and some were late.
    // A sampler that then takes the first thread to stop prefers threads that get a processor often
    // and for a short time.
    bool had_no_processor() const { return had_no_processor_; }
    // The time from stop_began() until the last thread was about to be resumed. The resuming call
    // itself does not count: a thread that wakes up on this processor takes it from us, and runs.
    std::chrono::nanoseconds last_pause() const { return stop_ended_ - stop_began_; }
    // Returns when stops began and ended since the last call: those of the last ones, if nobody has
    // asked for long. In a stop, a thread may make system calls for us.
    struct StopTime {
        std::chrono::steady_clock::time_point began, ended;
    };
    std::vector<StopTime> take_stop_times() { return std::exchange(stop_times_, {}); }

    // Resumes threads that have been stopped since launch() or adopt().
    void resume();

    // From each thread's next resume on, `watcher` sees the system calls of the thread. Null ends
    // this. `watcher` must outlive the target or be removed.
    void watch_syscalls(SyscallWatcher* watcher) { watcher_ = watcher; }

    // Unmaps injected memory, has zombies reaped, and ends the tracing. Threads that cannot be
    // stopped, or are left asleep, stay attached until the calling thread ends; the kernel then
    // detaches them without waking them. If there is something to clean up and all threads sleep, a
    // thread that does not notice is stopped, and after a second any thread. Errors: those of
    // stop() and of RemoteSyscall. No effect on a target that has ended or is detached.
    Result<void> detach(Sleepers sleepers = Sleepers::stop);

    // Ends the tracing for a while, unnoticed by sleepers. Processes that it creates meanwhile are
    // not followed. The target has no threads until seize_again(), and stop() finds none. Errors:
    // those of detach().
    Result<void> let_go();
    // Traces a target that was let go again. exec_count() is another one if it may have executed a
    // program meanwhile. After an error it is let go as before. Errors: those of attach(); gone.
    Result<void> seize_again();
    bool is_let_go() const { return let_go_.has_value(); }
    // To be called now and then: notes an end that no status tells, as that of a target that was
    // let go and is no child of ours. end() then says only that it has ended, or by which signal.
    void look_for_end();
    // Returns how many stops were handled since the last call that nobody has asked for: at
    // signals, and where threads and processes are born or programs executed.
    std::uint64_t take_event_stops() { return std::exchange(event_stops_, 0); }

    // Returns a `syscall` instruction in the target's code, verified to be there now. Prefers one
    // that is followed by a return, so that a thread without a stack dies at once.
    Result<GuestAddress> syscall_instruction();

    // Returns code for the way home of a borrowed thread, verified to be there now, if there is
    // any.
    std::optional<ReturnCode> return_code();

    // Sets the object that knows the processes descending from the same first one, or null. It must
    // outlive the target.
    void set_relatives(const Relatives* relatives) { relatives_ = relatives; }
    const Relatives* relatives() const { return relatives_; }

    // Whether it inherits orphans, according to its last answer (orphan_heir.h). Empty if it was
    // never asked.
    std::optional<bool> inherits_orphans() const { return inherits_orphans_; }
    void note_inherits_orphans(bool inherits) { inherits_orphans_ = inherits; }

    // From now on ptrace_options() has PTRACE_O_EXITKILL: without us, the process would go on from
    // a state that is long past.
    void die_with_tracer() { dies_with_tracer_ = true; }
    // The PTRACE_O_... flags of its threads, with PTRACE_O_TRACEEXIT while there is a companion.
    std::uint64_t ptrace_options() const;

    // Borrows a stopped thread for our calls. With a way home (RemoteSyscall::has_way_home) the
    // thread goes on unharmed if we die at any moment, and no process that it created remains. The
    // session has one wherever it can be laid. Errors: those of RemoteSyscall::begin() and of
    // syscall_instruction().
    Result<RemoteSyscall> borrow(StoppedThread& thread);
    // Finds what the first borrow() needs while the target still runs.
    void prepare_borrowing();

    // The companion ends before the program does, before an exec, and before the detach. Null if
    // there is none.
    Companion* companion() const { return companion_.get(); }
    void keep(std::unique_ptr<Companion> companion) { companion_ = std::move(companion); }
    void end_companion();
    // Makes the kernel report the target's end before anyone else learns of it, so that the
    // companion can end in time.
    Result<void> ask_for_end(ScopedStop& stop);

    // Ended children that the target has not reaped yet, left over from making a fork server.
    const Zombies& zombies() const { return zombies_; }

    // Registers memory that is unmapped when the target is let go, unless it has executed another
    // program or unmapped the memory by then.
    void note_injected(const InjectedMemory& memory) { injected_.push_back(memory); }

  private:
    friend class ScopedStop;
    struct Thread {
        // When it was first followed.
        std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
        std::optional<WaitStatus> stop;  // empty while the thread runs or is about to stop
        bool left_out = false;           // from the current stop
        bool dead = false;               // a leader that ended before its other threads
        std::optional<RestartedCall> restarted;
        WakeRate wakes;
        bool waits_for_futex = false;          // before the last stop
        std::optional<ActivityFile> activity;  // once it was asked for
    };

    // What is known of a target that was let go.
    struct LetGo {
        std::map<pid_t, std::chrono::steady_clock::time_point> began;  // of its threads
        std::vector<AuxiliaryEntry> program;                           // tells programs apart
    };

    Target(WaitHub& hub, pid_t pid, Forks forks);
    Result<void> seize_all();
    Result<bool> seize_those_in_the_making();
    Result<bool> seize_new();
    Result<void> seize(pid_t tid);
    bool has_uninterruptible() const;
    std::optional<SleepingCall> look_at(pid_t tid, Thread& thread) const;
    const ActivityFile* activity(pid_t tid, ActivityFile& own);
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
    void note_ends_of_all_but(pid_t tid);
    bool adopt_unknown(const WaitEvent& event);
    bool detach_late(const WaitEvent& event);
    void note_unseized_life(LetGo left);
    void note_unseen_end(const WaitStatus& status);
    bool is_namespace_init();
    void let_die(StoppedThread& thread, int signal);
    void watch_for_end();
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
    // Held during a ScopedStop, and until the threads that were late for it have stopped and gone
    // on.
    std::shared_ptr<const Urgency> urgency_;
    std::weak_ptr<const Urgency> last_urgency_;  // others may keep it alive
    std::set<pid_t> late_;
    bool detached_ = false;  // also if it was let go
    std::optional<LetGo> let_go_;
    UniqueFd end_watch_;          // a pidfd, where no status will tell the end
    std::optional<int> dies_of_;  // this signal, since it was let die
    std::optional<bool> is_namespace_init_;
    std::uint64_t event_stops_ = 0;
    std::uint64_t exec_count_ = 0;
    std::vector<std::string> executed_command_;
    std::chrono::steady_clock::time_point stop_began_, stop_ended_;
    std::vector<StopTime> stop_times_;
    bool had_no_processor_ = false;
    SyscallWatcher* watcher_ = nullptr;
    const Relatives* relatives_ = nullptr;
    std::optional<bool> inherits_orphans_;
    std::optional<WaitStatus> end_;
    std::optional<GuestAddress> syscall_instruction_;
    std::optional<ReturnCode> return_code_;
    bool has_no_return_code_ = false;  // the last search found none
    std::map<pid_t, Thread> threads_;
    EndedThreads ended_threads_;
    std::set<pid_t> foreign_;  // children that the kernel made us trace, to be detached
    std::vector<Birth> births_;
    std::vector<InjectedMemory> injected_;
    bool dies_with_tracer_ = false;
    bool end_is_asked_for_ = false;  // PTRACE_O_TRACEEXIT is set, to end the companion in time
    std::unique_ptr<Companion> companion_;
    Zombies zombies_ = std::make_shared<std::vector<pid_t>>();
};

}  // namespace shadowprof
