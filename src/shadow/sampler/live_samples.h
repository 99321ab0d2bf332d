// Live samples: the process stands still while what it executes next is emulated from its own
// memory. Work that can be done before or after the stop is done there.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "shadow/request/shadow_policy.h"
#include "shadow/sampler/sample_source.h"
#include "shadow/schedule/sample_design.h"
#include "shadow/schedule/sampling_costs.h"

namespace shadowprof {

// What is known before the stop.
struct LivePlan {
    SampleRunner::Lease runner;
    SampleJob job;  // has the memory, and the mappings unless they change too often
};

// What is left after the stop.
struct LiveShot {
    std::optional<SampleRunner::Lease> runner = {};  // if no emulation was begun
    std::optional<SampleRunner::LiveRun> run = {};
    std::optional<WindowWatch> window = {};       // if the sample may have one
    std::shared_ptr<const Urgency> urgency = {};  // held until the window's end
    bool was_stopped = true;
    bool observed = false;                                  // no sample: only where the threads are
    bool later = false;                                     // SampleTaken::Kind::later
    std::chrono::steady_clock::time_point not_before = {};  // if `later`
    bool valid = true;                                      // the mappings were as planned
    std::optional<std::string> maps_now = {};               // if they were not
    bool cut = false;                                       // its time limit cut the emulation
    std::optional<Error> refusal = {};
};

class LiveSamples final : public SampleInSteps<LivePlan, LiveShot> {
  public:
    // All must outlive it.
    LiveSamples(const RunOptions& options, SampleDesign& design, SamplingCosts& costs,
                ShadowPolicy& policy, const ProbeRequest* probes);

    double expected_cost_seconds(const SampledProcess& process) const override {
        return process.kinds.expected_cost_seconds(SampleKind::live);
    }
    void on_step(SampleRunner& runner) override;
    std::chrono::nanoseconds on_finished(SampleRunner& runner, const SampleReport& report,
                                         SampledProcess* process) override;
    void fill(Profile&) const override {}

    // Takes a live sample in the stop of a shadow sample whose fork was refused. `job` has its
    // threads, but no snapshot.
    LiveShot take_in(ScopedStop& stop, SampledProcess& process, SampleRunner::Lease runner,
                     SampleJob job);
    // To be called after that stop, whose cost is accounted for already.
    Result<SampleTaken> finish(SampledProcess& process, LiveShot shot);

    // To be called if the first live sample need not look at the process to translate ahead.
    void skip_first_observation() { has_observed_ = true; }

  private:
    using Clock = std::chrono::steady_clock;

    Result<Planned> plan_steps(SampledProcess& process, SampleOrder order) override;
    LiveShot take(SampledProcess& process, LivePlan plan) override;
    Result<SampleTaken> settle(SampledProcess& process, LiveShot shot) override;
    Result<SampleJob> plan_job(SampledProcess& process, const SampleShare& share);
    Result<LiveShot> take_in_time(SampledProcess& process, LivePlan& plan, bool& was_stopped);
    LiveShot observe_threads(ScopedStop& stop, LivePlan& plan);
    Result<SampleJob> complete(ScopedStop& stop, SampleJob job, Clock::time_point until);
    bool wants_window(SampledProcess& process, const SampleJob& job) const;
    std::optional<WindowWatch> begin_window(SampledProcess& process,
                                            const SampleRunner::LiveRun& run);
    static void note_window(SampledProcess& process, const SampleReport& report);
    std::chrono::nanoseconds find_end(SampledProcess& process, LiveShot& shot);
    std::chrono::nanoseconds usable_time(std::size_t threads) const;

    const RunOptions& options_;
    SampleDesign& design_;
    SamplingCosts& costs_;
    ShadowPolicy& policy_;
    const ProbeRequest* probes_;
    const std::chrono::nanoseconds limit_;  // for a stop
    StateRoom room_;                        // for the window
    bool has_observed_ = false;             // at the threads, before the first sample
};

}  // namespace shadowprof
