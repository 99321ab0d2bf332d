// Runs a program in the emulator alone. The program's process executes no user code: it stands
// still, and makes the system calls to which the emulation comes (guest_kernel/forward/). This is
// the base of exact mode.
//
// Between two stretches, the process has the program's memory, and one of its threads the program's
// registers. Within a stretch they are the emulator's: a program whose emulator dies then cannot go
// on. Threads are emulated one at a time, in turns by instructions. A thread that waits in the
// kernel does so in its own real thread, while others go on.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"
#include "guest_kernel/forward/call_messages.h"
#include "profile/profile.h"
#include "ptrace/process/target.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/emulation/trace_consumer.h"
#include "shadow/exact/check_schedule.h"
#include "shadow/exact/interval_check.h"
#include "shadow/exact/process/forwarded_process.h"
#include "shadow/exact/process/native_run.h"
#include "shadow/exact/process/one_processor.h"
#include "shadow/exact/shared_files.h"
#include "shadow/exact/state_comparison.h"
#include "shadow/request/probe_request.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

struct ForwardedOptions {
    // What is traced: not both values and references, unless there are bursts.
    ProfileKinds profiles = ProfileKinds::none();
    std::optional<BurstOptions> bursts;  // if set, tracing is limited to such bursts
    std::uint64_t seed = 0;              // for bursts, and for when and what is checked
    std::uint64_t turns_seed = 0;        // for the lengths of threads' turns
    WorkerProbes* probes = nullptr;      // those of the worker; null: there are none
    GuestTime time = {};                 // of the process at its begin
    double checked_share = 0;            // of the time, to be spent on proofs (interval_check.h)
    // Whether the process shares its memory with its parent, which waits, as after vfork.
    bool shares_memory = false;
    // Whether the process may have marks of its parent's on its memory (unforked_memory.h).
    bool inherits_marks = false;
    GuestAddress cleared_at_end = {};  // of its first thread: see ForwardedThread::Child
    RefusedInstructions refused = {};  // the same
    std::function<bool()> is_alone;    // whether no other process is led now; empty: always
    // Called now and then. Returns whether the program is to be let go, with
    // ErrorCode::interrupted.
    std::function<bool()> is_given_up;
};

class ForwardedRun {
  public:
    // All must outlive it. `stats` and `divergences` are added to.
    ForwardedRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                 const ForwardedOptions& options, ExactStats& stats,
                 std::vector<Divergence>& divergences);

    // Begins the emulation, and then does what can be done without waiting: awaits() says what
    // the next step needs. False if the program cannot be followed any further, for the reason in
    // ExactStats::stopped_early: it then stands where it can go on without us. Errors: gone (the
    // program has ended); with another one, is_current() says whether it can go on.
    Result<bool> begin();
    Result<bool> step();
    // What the next step() waits for.
    struct Awaited {
        int descriptor;  // that becomes readable; -1: a new status of any process
        std::optional<std::int64_t> until_ns;  // by CLOCK_MONOTONIC, if it does not wait longer
    };
    Awaited awaits() const;
    ForwardedProcess& process() { return process_; }
    // Whether the process has the program's registers and memory.
    bool is_current() const { return is_current_; }
    // Whether the worker has nothing more to do, so that another program can use it.
    bool is_worker_idle() const { return !is_emulating_; }
    // How often the program has executed another one.
    std::uint64_t executed_programs() const { return executed_; }
    // The sums over all stretches.
    const WorkerCounters& counters() const { return counters_; }
    // The process's time, at its last call or the end of the last stretch.
    const GuestTime& time() const { return time_; }
    // The names of threads, by id, as they were last.
    const std::map<pid_t, std::string>& thread_names() const { return process_.names(); }
    std::vector<ThreadLife> thread_lives() const { return process_.thread_lives(); }
    std::uint64_t thread_lives_left_out() const { return process_.thread_lives_left_out(); }

  private:
    using Clock = std::chrono::steady_clock;

    // An interval that is emulated in order to be checked.
    struct Checked {
        IntervalCheck interval;
        Clock::duration forking;  // the time that this took
    };

    Result<bool> let_go(Result<bool> followed);
    Result<bool> begin_stretch();
    Result<void> set_options(const ForwardedThread& thread);
    Result<void> end_fork_server();
    Result<void> prepare_check();
    Result<bool> begin_emulation(RunCalls calls);
    Result<bool> advance();
    Result<bool> take(const SampleOutcome& outcome);
    Result<bool> end_checked(Checked checked, const SampleOutcome& outcome);
    Result<void> check(IntervalCheck& interval, const SampleOutcome& outcome);
    Result<Passage> pass_checked(const SampleOutcome& outcome);
    bool is_check_due() const;
    bool can_check() const;
    bool is_given_up() const { return options_.is_given_up && options_.is_given_up(); }
    Result<bool> prepare_layout(std::string& text);
    void note_excluded(std::string why);
    void set_levels(RunLimits& limits) const;
    Result<void> look_for_signals();
    Result<bool> is_stop_due();
    Result<void> answer(const WorkerProcess::Question& question);
    Result<void> answer_late();
    Result<bool> pause(std::size_t index);
    Result<bool> go_on_from_pause();
    Result<void> pass_on(const CallRequest& request,
                         Result<std::optional<ForwardedProcess::Answer>> answered);
    Result<void> note_call(const CallRequest& request, CallAnswer& message);
    Result<std::string> take_layout(CallAnswer& message);
    Result<void> send(const ForwardedProcess::Answer& answer, std::string_view maps);
    ForwardedThread& thread() const { return process_.thread(at_); }
    void take_states(const SampleOutcome& outcome);
    std::vector<StartThread> all_threads() const;
    Result<bool> end_stretch(const SampleOutcome& outcome);
    Result<Passage> pass_end(const SampleOutcome& outcome);
    Result<Passage> pass_fault(const SampleOutcome& outcome);
    bool stands_at_request() const;
    Result<Passage> pass_instruction();
    Result<Passage> pass_to_next_call(std::string why);
    Result<Passage> led_on(Result<Passage> passage);
    Result<Passage> deliver_signals();
    Result<bool> prepare_next(Passage passage);
    Result<void> begin_program();
    Result<void> replace_worker();
    void note_result(const CpuState& call, const Passage& passage);
    bool restart_trace();
    void begin_trace(std::size_t index);
    std::vector<GuestAddress> stack_of(std::size_t index);

    ScopedStop& stop_;
    OwnedWorker& worker_;
    TraceConsumer& consumer_;
    const ForwardedOptions& options_;
    ExactStats& stats_;
    std::vector<Divergence>& divergences_;
    const BreakpointKind breakpoints_;
    OneProcessor processor_;
    ForwardedProcess process_;
    // The thread that ended the last stretch, or was led on since: it has its own registers.
    std::size_t at_ = 0;
    WorkerCounters counters_ = {};
    Unwinder unwinder_;

    UniqueFd memory_;
    MemoryMap map_;
    SharedFiles shared_files_;
    SharedFiles::Missing missing_;      // of the present mappings
    std::vector<MemoryRange> changed_;  // memory that others wrote to since the last stretch
    std::optional<ForwardedProcess::Left> left_;  // if that ends the stretch
    bool anew_ = true;  // the worker's memory may differ from the program's
    bool layout_changed_ = false;
    bool new_trace_ = true;  // no thread's trace goes on where it ended
    bool jumped_ = false;    // that of the thread at `at_` does not
    bool is_current_ = true;
    bool stopping_ = false;
    bool is_emulating_ = false;  // the worker has not ended the stretch
    std::uint64_t executed_ = 0;
    bool is_gone_ = false;        // the process has ended
    bool leaves_checks_ = false;  // the next stretch is not checked
    bool at_request_ = false;     // the next stretch begins before a request
    bool shares_memory_;
    GuestTime time_;
    CheckSchedule checks_;
    std::optional<Checked> checked_;  // if this stretch is such an interval
    bool is_in_turn_ = false;  // of several threads, the one at `at_` begins the next stretch
    // The process is stopped as a whole. When it continues, the worker gets the answer, or the next
    // stretch begins.
    struct Pause {
        std::size_t index;  // of the thread
        std::optional<ForwardedProcess::Answer> answer = {};
        std::string maps = {};
    };
    std::optional<Pause> pause_;
    std::optional<CallRequest> question_;  // the worker's, that is not answered yet
    Clock::time_point last_word_, observation_due_;
    int placings_ = 0;  // how often in a row there was no room for the program's mappings
};

}  // namespace shadowprof
