// Latency sessions: a thread of the stopped process is emulated, and its loads are timed in the
// process itself. They make the profile's load latencies.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "profile/code/module_table.h"
#include "profile/kinds/latency/load_table.h"
#include "profile/kinds/probes/probe_totals.h"
#include "ptrace/process/target.h"
#include "shadow/latency/session_loads.h"
#include "shadow/request/probe_request.h"
#include "shadow/request/run_options.h"
#include "shadow/sampler/sample_source.h"
#include "shadow/schedule/sampling_costs.h"

namespace shadowprof {

// What latency sessions need in one process.
struct LatencyProcess {
    std::uint64_t exec_count = 0;
    std::optional<ScratchMemory> scratch;
    std::optional<std::string> refusal;  // why there are no sessions in this program
    TimeableMemory timeable;
    std::string timeable_maps;  // the mappings that `timeable` was made of
};

// What is known before the stop.
struct LatencyPlan {
    std::optional<SampleRunner::Lease> runner =
        {};  // held, so that it translates nothing meanwhile
    LatencyProcess* place = nullptr;
    std::string maps_text;
    MemoryMap map;
    UniqueFd memory;
};

// What is left after the stop.
struct LatencyShot {
    LatencyPlan plan;
    std::chrono::nanoseconds pause{0};
    bool later = false;  // new scratch memory, other mappings, or no thread outside the vDSO
    std::optional<SessionLoads> loads = {};
    bool was_timed = false;  // nothing failed in the stop, and a thread executed
};

class LatencySessions final : public SampleInSteps<LatencyPlan, LatencyShot> {
  public:
    // All must outlive it; `probes` may be null.
    LatencySessions(const RunOptions& options, std::uint64_t seed, WaitHub& hub,
                    ModuleTable& modules, SamplingCosts& costs, const ProbeRequest* probes);
    // Kills the worker.
    ~LatencySessions() override;

    double expected_cost_seconds(const SampledProcess&) const override { return expected_seconds_; }
    // False if the process's program allows no session.
    bool may_sample(const SampledProcess& process) const override;
    // Sessions have a worker of their own, and no runner.
    void on_step(SampleRunner&) override {}
    std::chrono::nanoseconds on_finished(SampleRunner&, const SampleReport&,
                                         SampledProcess*) override {
        return {};
    }
    // Kills the worker.
    void end() override { end_worker(); }
    // Adds load latencies, what probes saw of them, calibration, counters and notes. Calibrates the
    // machine if there are latencies and nobody has done so yet.
    void fill(Profile& profile) const override;
    // Like fill(), but without levels, for which the machine may have to be calibrated.
    void fill_so_far(Profile& profile) const override;

  private:
    void fill_counters(Profile& profile) const;
    using Clock = std::chrono::steady_clock;

    Result<Planned> plan_steps(SampledProcess& process, SampleOrder order) override;
    LatencyShot take(SampledProcess& process, LatencyPlan plan) override;
    Result<SampleTaken> settle(SampledProcess& process, LatencyShot shot) override;
    Result<void> have_worker();
    void end_worker();
    LatencyProcess& place_of(const SampledProcess& process);
    Result<LatencyPlan> plan_at(const Target& target, LatencyProcess& place);
    Result<void> time_in_stop(Target& target, LatencyShot& shot);
    Result<void> inject(ScopedStop& stop, LatencyProcess& place);
    Result<void> time_loads(StoppedThread& thread, const CpuState& cpu, LatencyShot& shot,
                            Clock::time_point until);
    void account(const SampledProcess& process, const LatencyShot& shot);

    const RunOptions& options_;
    const std::chrono::nanoseconds limit_;  // for a stop
    std::mt19937_64 random_;
    WaitHub& hub_;
    ModuleTable& modules_;
    SamplingCosts& costs_;
    ProbeTotals probed_;
    WorkerProbes worker_probes_;
    std::optional<WorkerProcess> worker_;
    bool forget_code_ = false;
    std::map<std::uint64_t, LatencyProcess> places_;  // by SampledProcess::number
    LoadTable table_;
    double expected_seconds_ = 1.5e-3;  // until one is known

    std::uint64_t sessions_ = 0, migrated_ = 0, questions_ = 0, timing_ns_ = 0, session_ns_ = 0;
    LoadCounts counts_ = {};
    std::map<std::string, std::uint64_t> ended_;
    std::map<std::string, std::uint64_t> refusals_;
};

}  // namespace shadowprof
