// Leads a program from one system call to the next. Each interval is emulated, and then run
// natively from the same state. At the interval's end all registers, and every page that the
// emulation wrote to, must be the same. This is the base of verify.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"
#include "emu/worker/worker_process.h"
#include "profile/profile.h"
#include "ptrace/process/target.h"
#include "ptrace/replica/replica.h"
#include "ptrace/unwind/unwind.h"
#include "shadow/emulation/owned_worker.h"
#include "shadow/emulation/trace_consumer.h"
#include "shadow/exact/process/native_run.h"
#include "shadow/exact/state_comparison.h"
#include "shadow/verify/narrowing.h"
#include "shadow/verify/rseq_watch.h"

namespace shadowprof {

// When a divergence is narrowed down to an instruction. That needs a replica for each interval,
// which may cost as much as the rest.
enum class Narrow : std::uint8_t { never, after_the_first, always };

struct IntervalOptions {
    GuestAddress flipped;  // see ExactRequest
    Narrow narrow = Narrow::never;
    // Called before each interval. Returns how many instructions may still be followed; at 0 the
    // program is let go. Empty: no limit.
    std::function<std::uint64_t()> instructions_left;
    std::function<void()> on_interval;  // called before each interval; may be empty
};

class IntervalRun {
  public:
    // All must outlive it. `stats` and `divergences` are added to.
    IntervalRun(ScopedStop& stop, OwnedWorker& worker, TraceConsumer& consumer,
                const IntervalOptions& options, ExactStats& stats,
                std::vector<Divergence>& divergences);

    // Runs until the program ends (ErrorCode::gone) or cannot be followed any further, for the
    // reason in ExactStats::stopped_early. The program then stands where it can go on without us.
    Result<void> run();
    // The sums over all intervals.
    const WorkerCounters& counters() const { return counters_; }

  private:
    using Clock = std::chrono::steady_clock;
    // What ended the emulation of an interval, and so where the native run must stop.
    enum class Boundary : std::uint8_t { syscall, vdso_call, instruction, fault, cut };
    // Where a native run has come to.
    enum class Arrival : std::uint8_t { there, elsewhere, out_of_reach, given_up };
    // Limits of an interval: its instructions, and how many blocks after them are searched for a
    // place where the hardware can be stopped.
    struct Bounds {
        std::uint64_t instructions = RunLimits::unlimited;
        std::uint64_t cut_window = 0;
    };

    Result<void> follow();
    bool bound_interval();
    Result<bool> interval();
    Result<bool> interval_from(const CpuState& start);
    Result<void> begin(const CpuState& cpu);
    Result<SampleOutcome> emulate(const CpuState& cpu);
    Result<SampleOutcome> follow_emulation();
    Result<SampleOutcome> onward(const CpuState& cpu, std::uint64_t blocks,
                                 const std::function<void(std::uint64_t)>& use);
    Result<SampleOutcome> cut(SampleOutcome emulated);
    bool is_unreadable(const RunResult& result) const;
    std::string unreadable_name(const SampleOutcome& emulated) const;
    bool has_stack_grown(const std::vector<MemoryRange>& writes) const;
    std::optional<Boundary> boundary_of(const SampleOutcome& emulated) const;
    Result<Arrival> run_natively_to(Boundary boundary, const SampleOutcome& emulated);
    Result<Arrival> find_cut(const SampleOutcome& emulated);
    void note_difference(std::vector<std::string> differences);
    Result<Passage> pass_elsewhere(const SampleOutcome& emulated);
    Result<Passage> run_to_next_call(std::string why);
    Result<std::vector<std::string>> compare(Boundary boundary, const SampleOutcome& emulated,
                                             std::vector<MemoryDifference>* bytes = nullptr);
    Result<std::vector<std::string>> compare_registers(Boundary boundary,
                                                       const SampleOutcome& emulated);
    Result<std::vector<std::string>> compare_memory(std::vector<MemoryDifference>* bytes);
    Result<Passage> pass(Boundary boundary, const SampleOutcome& emulated);
    Result<Passage> pass_instruction(const SampleOutcome& emulated);
    Result<Passage> pass_end(Arrival arrival, Boundary boundary, const SampleOutcome& emulated);
    Result<Passage> leave_to_hardware(bool worker_exhausted);
    Result<bool> prepare_next(Passage passage);
    Result<void> restart_trace();
    Result<void> replace_worker();
    bool shares_memory() const;
    bool wants_replica() const;
    Result<void> take_replica();
    void narrow_down(const CpuState& start);
    void note_divergence(std::vector<std::string> differences);

    ScopedStop& stop_;
    StoppedThread& thread_;
    OwnedWorker& worker_;
    TraceConsumer& consumer_;
    const IntervalOptions& options_;
    ExactStats& stats_;
    std::vector<Divergence>& divergences_;
    const BreakpointKind breakpoints_;
    NativeRun native_;
    WorkerCounters counters_ = {};
    Unwinder unwinder_;

    std::optional<Replica> replica_;  // at the interval's start
    std::optional<RseqWatch> rseq_;   // from the interval's start on
    bool has_memory_sharer_ = false;  // at the interval's start
    NativeEnd native_end_;            // set when this interval was compared
    GuestAddress syscall_instruction_;
    UniqueFd memory_;
    MemoryMap map_;
    std::vector<MemoryRange> changed_;  // memory that others wrote to since the last interval
    bool anew_ = true;                  // the worker's memory may differ from the program's
    bool layout_changed_ = false;
    bool jumped_ = true;           // the trace does not go on where it ended
    Bounds bounds_;                // limits of this interval
    bool cut_for_signal_ = false;  // the last cut was for a signal, not for the bounds
    std::chrono::nanoseconds emulated_for_{};
    std::uint64_t trace_words_ = 0;  // trace words of this interval
    std::uint64_t max_passes_ = 0;   // about how often the hardware passes the place of the cut
};

}  // namespace shadowprof
