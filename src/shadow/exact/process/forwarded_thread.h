// A thread of a program that runs in the emulator alone. The thread executes no user code: it
// stands still, and makes the system calls to which its emulation comes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/cpu_state.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "emu/guest/guest_threads.h"
#include "guest_kernel/forward/call_messages.h"
#include "ptrace/process/target.h"
#include "ptrace/remote/rseq_area.h"
#include "shadow/exact/process/native_run.h"
#include "shadow/exact/process/one_processor.h"

namespace shadowprof {

// Instructions that raise a fault in a thread, as it has asked the kernel for that.
struct RefusedInstructions {
    bool time_stamp_counter = false;  // RDTSC and RDTSCP: prctl(PR_SET_TSC)
    bool cpuid = false;               // arch_prctl(ARCH_SET_CPUID)

    bool any() const { return time_stamp_counter || cpuid; }
};

class ForwardedThread {
  public:
    // The program's first thread; `thread` must outlive the object, here and for take_born().
    // `cleared_at_end`: see Child. All functions may return ErrorCode::gone: the process has ended.
    ForwardedThread(Target& target, StoppedThread& thread, GuestAddress cleared_at_end,
                    BreakpointKind breakpoints, OneProcessor& processor);
    // The thread that another one has just started by `call`, when it has stopped.
    static Result<std::unique_ptr<ForwardedThread>> take_born(Target& target, pid_t tid,
                                                              const CpuState& call,
                                                              BreakpointKind breakpoints,
                                                              OneProcessor& processor);
    ForwardedThread(const ForwardedThread&) = delete;
    ForwardedThread& operator=(const ForwardedThread&) = delete;

    pid_t tid() const { return thread_.tid(); }
    StoppedThread& stopped() { return thread_; }
    NativeRun& native() { return native_; }

    // The thread's registers and what its emulation does, when that last stood still. The thread's
    // own registers may be others.
    const CpuState& state() const { return state_; }
    GuestThreads::State place() const { return place_; }
    // The registers with which it goes on elsewhere than in this emulation: a call in which it
    // waits there was not made, and it stands before it.
    CpuState state_without_emulation() const;
    void emulated_to(const CpuState& state, GuestThreads::State place);
    // Whether a call of it is under way.
    bool is_in_call() const { return place_ == GuestThreads::State::in_call; }

    // Has the thread make the call. Returns how it was passed, or nothing if it is under way.
    // `has_others`: other threads or processes are led as well, which the call may wait for.
    Result<std::optional<Passage>> make_call(const CallRequest& request, bool has_others);
    // A process that the thread's last call has borne, see NativeRun::take_children().
    struct Child {
        pid_t pid;
        bool by_vfork;
        GuestAddress cleared_at_end;  // the word that the kernel clears when its thread ends, or 0
        RefusedInstructions refused;
    };
    std::vector<Child> take_children();
    // How the call under way was passed; nothing if it still is.
    Result<std::optional<Passage>> passed_call();
    // Leads the thread to the entry of the system call behind whose instruction `cpu` is.
    Result<void> enter_call(const CpuState& cpu, bool with_extended);
    // Has the thread end, while others go on. The answer says what its end does to memory.
    Result<CallAnswer> end(const CpuState& cpu);
    // The same answer for a thread that was killed in its call.
    CallAnswer end_of_killed() const;

    // Gives the thread state_without_emulation().
    Result<void> make_true();
    // Reads the registers, after the thread has gone on by itself.
    Result<void> read_state();
    // Delivers the signals that wait for it. Its memory must be the program's.
    Result<Passage> deliver_signals();
    // Whether a signal waits for it that can be delivered now.
    Result<bool> has_signal() const;
    // If the thread, which has come to a passage, stands in a stop of the whole process, as by
    // SIGSTOP, leaves it there: nothing else may then be called before has_continued() is true.
    Result<bool> pause();
    Result<bool> has_continued();
    // Ends the pause, in order to let go of the thread: the process stays stopped.
    Result<void> end_pause();
    // Lets go of a thread that has its state, also one whose call is under way.
    Result<void> release();
    // Ends the tracing of a thread that was released. Not for the first one.
    void detach();

    // What the kernel refuses to it. It must be told what it was born with.
    const RefusedInstructions& refused() const { return refused_; }
    void refuse(const RefusedInstructions& refused) { refused_ = refused; }

    // Reads where the kernel writes when the thread goes on.
    Result<void> read_rseq();
    const RseqArea& rseq() const { return rseq_; }
    // What it writes then.
    std::vector<MemoryRange> written_at_resume() const;
    // Writes the processor's number where the kernel will write it when the thread goes on, if the
    // thread may use one alone.
    void note_processor(int memory_fd) const;

  private:
    struct Own {
        StoppedThread thread;
    };
    ForwardedThread(Target& target, const Own& own, BreakpointKind breakpoints,
                    OneProcessor& processor);
    Result<std::optional<Passage>> passage_of(bool is_at_exit);
    void finish_call(const Passage& passage);
    void note_refused();

    std::optional<StoppedThread> own_;  // unless it is the first
    Target& target_;
    StoppedThread& thread_;
    NativeRun native_;
    OneProcessor& processor_;
    CpuState state_;
    GuestThreads::State place_ = GuestThreads::State::runs;
    std::int64_t number_ = -1;  // of the call that it is in
    RseqArea rseq_;
    RefusedInstructions refused_;
    GuestAddress cleared_at_end_;  // set_tid_address(2)
};

}  // namespace shadowprof
