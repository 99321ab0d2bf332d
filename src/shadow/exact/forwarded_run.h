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
#include "shadow/exact/forwarded_process.h"
#include "shadow/exact/interval_check.h"
#include "shadow/exact/interval_run.h"
#include "shadow/exact/native_run.h"
#include "shadow/exact/one_processor.h"
#include "shadow/exact/shared_files.h"
#include "shadow/request/probe_request.h"
#include "shadow/request/run_options.h"

namespace shadowprof {

struct ForwardedOptions {
    // What is traced: not both values and references, unless there are bursts.
    ProfileKinds profiles = ProfileKinds::none();
    std::optional<BurstOptions> bursts;  // if set, tracing is limited to such bursts
    std::uint64_t seed = 0;              // for the distances between bursts and checks
    std::uint64_t turns_seed = 0;        // for the lengths of threads' turns
    WorkerProbes* probes = nullptr;      // those of the worker; null: there are none
    double checked_share = 0;            // of the time, to be spent on proofs (interval_check.h)
    // Called now and then. Returns whether the program is to be let go, with
    // ErrorCode::interrupted.
    std::function<bool()> is_given_up;
    std::function<void()> on_tick;  // called now and then
};

class ForwardedRun {
  public:
    // All must outlive it. `stats` and `divergences` are added to.
    ForwardedRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                 const ForwardedOptions& options, ExactStats& stats,
                 std::vector<Divergence>& divergences);

    // Runs until the program ends (ErrorCode::gone) or cannot be followed any further, for the
    // reason in ExactStats::stopped_early. The program then stands where it can go on without us.
    // With another error, is_current() says whether it can go on.
    Result<void> run();
    // Whether the process has the program's registers and memory.
    bool is_current() const { return is_current_; }
    // The sums over all stretches.
    const WorkerCounters& counters() const { return counters_; }
    // The names of threads, by id, as they were last.
    const std::map<pid_t, std::string>& thread_names() const { return process_.names(); }

  private:
    using Clock = std::chrono::steady_clock;

    Result<void> follow();
    Result<bool> stretch();
    Result<bool> checked_stretch(const CpuState& start, IntervalCheck& interval,
                                 Clock::duration forking);
    Result<void> check(IntervalCheck& interval, const SampleOutcome& outcome);
    Result<Passage> pass_checked(const SampleOutcome& outcome);
    bool is_check_due() const;
    Result<bool> begin(const CpuState& cpu, RunCalls calls);
    Result<bool> prepare_layout(std::string& text);
    void set_levels(RunLimits& limits) const;
    Result<SampleOutcome> follow_emulation();
    Result<bool> is_stop_due();
    Result<void> answer(const WorkerProcess::Question& question);
    ForwardedThread& thread() const { return process_.thread(at_); }
    void take_states(const SampleOutcome& outcome);
    std::vector<StartThread> all_threads() const;
    Result<bool> end_stretch(const SampleOutcome& outcome);
    Result<Passage> pass_end(const SampleOutcome& outcome);
    Result<Passage> pass_fault(const SampleOutcome& outcome);
    Result<Passage> pass_instruction();
    Result<Passage> pass_to_next_call(std::string why);
    Result<Passage> led_on(Result<Passage> passage);
    Result<Passage> deliver_signals();
    Result<bool> prepare_next(Passage passage);
    Result<void> replace_worker();
    void note_result(const CpuState& call, const Passage& passage);
    void restart_trace();
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
    bool is_gone_ = false;         // the process has ended
    Clock::time_point check_due_;  // when the next interval is checked
    int placings_ = 0;  // how often in a row there was no room for the program's mappings
};

}  // namespace shadowprof
