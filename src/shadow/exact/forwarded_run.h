// Runs a program in the emulator alone. The program's process executes no user code: it stands
// still, and makes the system calls to which the emulation comes (guest_kernel/forward/). This is
// the base of exact mode.
//
// Between two stretches, the process has the program's registers and memory. Within a stretch they
// are the emulator's: a program whose emulator dies then cannot go on.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"
#include "guest_kernel/forward/call_messages.h"
#include "profile/profile.h"
#include "ptrace/process/target.h"
#include "ptrace/remote/rseq_area.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/emulation/trace_consumer.h"
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
    std::uint64_t seed = 0;              // for the distances between bursts
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
    Result<void> set_off_call(const CpuState& cpu, bool with_extended);
    Result<bool> prepare_layout(std::string& text);
    void set_levels(RunLimits& limits) const;
    Result<SampleOutcome> follow_emulation();
    Result<bool> is_stop_due();
    Result<void> answer(const WorkerProcess::Question& question);
    Result<CallAnswer> make_call(const CallRequest& request);
    std::string why_not_further();
    std::vector<MemoryRange> written_at_resume() const;
    void note_processor() const;
    Result<CallAnswer> answer_of(const Passage& passage);
    Result<bool> end_stretch(const SampleOutcome& outcome);
    Result<Passage> pass_end(const SampleOutcome& outcome);
    Result<Passage> pass_fault(const SampleOutcome& outcome);
    Result<Passage> pass_instruction();
    Result<Passage> pass_to_next_call(std::string why);
    Result<bool> prepare_next(Passage passage);
    Result<void> replace_worker();
    Result<void> restart_trace();

    ScopedStop& stop_;
    StoppedThread& thread_;
    OwnedWorker& worker_;
    TraceConsumer& consumer_;
    const ForwardedOptions& options_;
    ExactStats& stats_;
    std::vector<Divergence>& divergences_;
    const BreakpointKind breakpoints_;
    NativeRun native_;
    OneProcessor processor_;
    WorkerCounters counters_ = {};
    Unwinder unwinder_;

    UniqueFd memory_;
    MemoryMap map_;
    SharedFiles shared_files_;
    SharedFiles::Missing missing_;      // of the present mappings
    CpuState state_;                    // the program's, when it made its last call
    std::vector<MemoryRange> changed_;  // memory that others wrote to since the last stretch
    RseqArea rseq_;                     // the thread's
    std::optional<Passage> left_;       // how the last call was passed, if that ends the stretch
    bool anew_ = true;                  // the worker's memory may differ from the program's
    bool layout_changed_ = false;
    bool jumped_ = true;  // the trace does not go on where it ended
    bool is_current_ = true;
    bool stopping_ = false;
    bool is_gone_ = false;  // the process has ended
    // When the next interval is checked. Programs that end sooner are not held up by it.
    Clock::time_point check_due_ = Clock::now() + std::chrono::milliseconds(100);
    int placings_ = 0;  // how often in a row there was no room for the program's mappings
};

}  // namespace shadowprof
