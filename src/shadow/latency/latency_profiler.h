// Takes latency bursts, and makes the profile's load latencies of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "profile/load_table.h"
#include "profile/module_table.h"
#include "profile/probe_totals.h"
#include "ptrace/target.h"
#include "shadow/latency/latency_burst.h"
#include "shadow/probe_request.h"
#include "shadow/process_tree.h"
#include "shadow/run_options.h"
#include "shadow/sample_runner.h"

namespace shadowprof {

class LatencyProfiler {
  public:
    using Clock = std::chrono::steady_clock;

    // All must outlive it. `limit`: the longest stop of a burst. `probes` may be null.
    LatencyProfiler(WaitHub& hub, ModuleTable& modules, std::chrono::nanoseconds limit,
                    const ProbeRequest* probes);
    // Kills the worker.
    ~LatencyProfiler();
    LatencyProfiler(const LatencyProfiler&) = delete;
    LatencyProfiler& operator=(const LatencyProfiler&) = delete;

    // Whether bursts of the process make sense: false where its program cannot be borrowed for
    // them.
    bool may_take(const SampledProcess& process) const;
    enum class Taken : std::uint8_t {
        yes,
        idle,   // no thread executes instructions
        later,  // try again soon: what it needs is there only now, or the thread is in the vDSO
    };
    // One burst. How long the target stood still is in pause() whatever the answer is.
    Result<Taken> take(SampledProcess& process, ThreadScope scope, std::mt19937_64& random);
    // Of the last take(); zero if nothing was stopped.
    Clock::duration pause() const { return pause_; }
    // What one is expected to cost, in seconds.
    double expected_cost_seconds() const { return expected_seconds_; }

    // Adds load latencies, what probes saw of them, calibration, counters and notes. Calibrates the
    // machine if there is something to tell and nobody has done so yet.
    void fill(Profile& profile) const;

  private:
    // Of one process.
    struct Place {
        std::uint64_t exec_count = 0;
        std::optional<ScratchMemory> scratch;
        std::optional<std::string> refusal;  // it is not to be had in this program
        TimeableMemory timeable;
        std::string timeable_maps;  // the mappings that it was made of
    };
    struct Plan {
        std::string maps_text;
        MemoryMap map;
        UniqueFd memory;
    };

    Result<void> have_worker();
    Place& place_of(const SampledProcess& process);
    Result<Plan> plan(const Target& target, Place& place);
    Result<Taken> in_stop(SampledProcess& process, Place& place, Plan& plan, ThreadScope scope,
                          std::mt19937_64& random, std::optional<BurstLoads>& loads);
    Result<Taken> inject(ScopedStop& stop, Place& place);
    Result<void> burst(StoppedThread& thread, const CpuState& cpu, Place& place, const Plan& plan,
                       Clock::time_point until, BurstLoads& loads);
    void account(const SampledProcess& process, const Plan& plan, BurstLoads& loads);

    WaitHub& hub_;
    ModuleTable& modules_;
    const std::chrono::nanoseconds limit_;
    ProbeTotals probed_;
    WorkerProbes worker_probes_;
    std::optional<WorkerProcess> worker_;
    bool forget_code_ = false;
    std::map<std::uint64_t, Place> places_;  // by SampledProcess::number
    LoadTable table_;
    Clock::duration pause_{0};
    double expected_seconds_ = 1.5e-3;  // before anything is known

    std::uint64_t bursts_ = 0, migrated_ = 0, questions_ = 0, timing_ns_ = 0, burst_ns_ = 0;
    LoadCounts counts_ = {};
    std::map<std::string, std::uint64_t> ended_;
    std::map<std::string, std::uint64_t> refusals_;
};

}  // namespace shadowprof
