// The kernel side of a program that runs in the emulator alone: its process, whose threads make the
// system calls to which their emulation comes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_range.h"
#include "base/result.h"
#include "guest_kernel/forward/call_messages.h"
#include "profile/profile.h"
#include "ptrace/thread/thread_lives.h"
#include "shadow/exact/process/forwarded_thread.h"
#include "shadow/exact/process/one_processor.h"
#include "shadow/exact/process/processor_timers.h"

namespace shadowprof {

// Whether the thread ends within a moment: one that is killed loses its memory first.
bool ends_soon(pid_t pid, pid_t tid);

class ForwardedProcess {
  public:
    // A thread that went on elsewhere than behind its call, or can be followed no further.
    struct Left {
        std::size_t index;
        Passage passage;
    };
    struct Answer {
        CallAnswer message;
        std::optional<CpuState> born = {};     // the registers of message.new_thread
        std::vector<MemoryRange> ranges = {};  // that the kernel wrote besides what the call writes
        bool layout_changed = false;
        std::optional<Left> left = {};
    };

    // `first` is the only thread; for `cleared_at_end` see ForwardedThread::Child. All must outlive
    // this; `stats` is added to. All functions may return ErrorCode::gone.
    ForwardedProcess(Target& target, StoppedThread& first, GuestAddress cleared_at_end,
                     BreakpointKind breakpoints, OneProcessor& processor, ExactStats& stats);

    // Threads by their index in the emulation (GuestThreads::Index). A place is empty while its
    // thread has ended and no other has begun.
    std::size_t size() const { return threads_.size(); }
    bool has(std::size_t index) const { return index < size() && threads_[index]; }
    ForwardedThread& thread(std::size_t index) const { return *threads_[index]; }
    std::size_t live_threads() const;
    // Whether the process has been killed, which its threads may not have reported yet.
    bool ends_soon() const;
    // The first that has not ended and is in no call, or else the first that has not ended.
    std::size_t first_standing() const;
    // Through which the process's memory and /proc text can be read.
    pid_t live_tid() const;
    std::uint64_t signals_held() const;

    // Answers a question of the worker. Nothing: not yet, as a call must end first, see
    // answer_late(). `is_alone`: no other process is led, so it may as well wait.
    Result<std::optional<Answer>> answer(const CallRequest& request, bool is_alone);
    // The answer to a question that is still open, if there is one now. `must_not_wait`: there must
    // be one if possible, as the worker is to stop.
    Result<std::optional<Answer>> answer_late(const CallRequest& request, bool must_not_wait);
    // The children that it has borne since the last call.
    std::vector<ForwardedThread::Child> take_children();
    // The ids of its threads.
    std::vector<pid_t> thread_ids() const;
    // Why the program cannot be followed behind a call that it has made; empty if it can.
    std::string why_not_further() const;
    // Its timers of processor time, of which the process itself takes none.
    const ProcessorTimers& timers() const { return timers_; }
    // Whether it may have told the kernel to leave memory out of its forks (unforked_memory.h)
    // since it began a program.
    bool may_have_marks() const { return may_have_marks_; }
    // It may have its parent's marks, or may have made a call that was not asked for here.
    void suppose_marks() { may_have_marks_ = true; }
    // Signals what is due by now, to the thread `current` where it can be any.
    Result<void> signal_timers(std::size_t current, std::int64_t processor_ns);
    // The first thread for which a signal waits that can be delivered now, if there is one.
    Result<std::optional<std::size_t>> signalled() const;
    // Whether a signal waits for a thread that stands still since the call, which may have sent it.
    // The caller's own signals are delivered at the call's end.
    Result<bool> is_signalled_behind(const CallRequest& call);
    // Whether the kernel refuses instructions to some thread.
    bool refuses_instructions() const;
    // Gives all threads but `current` their states, and lets all go. From now on the kernel's own
    // timers signal.
    Result<void> release(std::size_t current);
    // The names of threads, by id, as they were last.
    const std::map<pid_t, std::string>& names() const { return names_; }
    // Its threads from first to last, but for some that have ended.
    std::vector<ThreadLife> thread_lives() const;
    std::uint64_t thread_lives_left_out() const { return ended_threads_.left_out(); }

  private:
    Result<std::optional<Answer>> answer_call(const CallRequest& request, bool is_alone);
    Result<std::optional<Answer>> late_answer_of_call(const CallRequest& request,
                                                      bool must_not_wait);
    Result<std::optional<Answer>> answer_ended(const CallRequest& request, bool must_not_wait);
    static Answer under_way(const CallRequest& request);
    void note_name(const ForwardedThread& thread);
    void note_end(pid_t tid);
    std::optional<Answer> answer_of_timer(const CallRequest& request);
    Result<void> arm_timers();
    bool comes_to_wait(const siginfo_t& info, bool such_wait);
    Result<void> signal(const ProcessorTimers::Signal& signal, std::size_t current);
    std::string why_not_made(const CallRequest& request) const;
    Result<Answer> refuse(const CallRequest& request, std::string why);
    Result<Answer> end_thread(const CallRequest& request);
    Answer ended(std::size_t index, CallAnswer message);
    bool outlives(std::size_t index) const;
    Result<Answer> answer_of(std::size_t index, const CallRequest* call, Passage passage);
    Result<void> add_born(pid_t tid, const CpuState& call, Answer& answer);

    Target& target_;
    const BreakpointKind breakpoints_;
    OneProcessor& processor_;
    ExactStats& stats_;
    std::vector<std::unique_ptr<ForwardedThread>> threads_;
    std::map<pid_t, std::string> names_;
    std::map<pid_t, ThreadLife::Clock::time_point> began_;  // of threads that live
    EndedThreads ended_threads_;
    ProcessorTimers timers_;
    bool may_have_marks_ = false;
    std::uint64_t waiting_since_earlier_ = 0;  // signals, as when they were last looked at
    // Real-time signals of timers, by number and timer, that waited when they were last looked at.
    std::set<std::pair<int, int>> waiting_signals_;
    std::uint64_t signals_of_ended_ = 0;
};

}  // namespace shadowprof
