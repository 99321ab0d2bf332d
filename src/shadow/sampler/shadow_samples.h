// Shadow samples: a replica of the process is forked in a short stop, and is emulated while the
// process goes on.
#pragma once

#include <chrono>
#include <list>
#include <optional>

#include "ptrace/replica/replica.h"
#include "shadow/input/input_recorder.h"
#include "shadow/request/shadow_policy.h"
#include "shadow/results/sample_results.h"
#include "shadow/sampler/live_samples.h"
#include "shadow/sampler/sample_source.h"
#include "shadow/schedule/sample_design.h"
#include "shadow/schedule/sample_schedule.h"
#include "shadow/schedule/sampling_costs.h"

namespace shadowprof {

// What is known before the stop.
struct ShadowPlan {
    SampleRunner::Lease runner;
    SampleJob job;
    std::optional<std::uint64_t> max_input_stops = {};  // nothing: input is not recorded
};

// What is left after the stop.
struct ShadowShot {
    std::optional<SampleRunner::Lease> runner;  // unless `live` has it
    SampleJob job;
    bool was_stopped = false;
    bool later = false;  // SampleTaken::Kind::later
    std::optional<Replica> replica = {};
    std::optional<InputRecorder::Lease> input = {};
    std::optional<WindowWatch> window = {};
    std::optional<LiveShot> live = {};  // taken in place of a fork that was refused
    std::optional<Error> refusal = {};
};

class ShadowSamples final : public SampleInSteps<ShadowPlan, ShadowShot> {
  public:
    // All must outlive it.
    ShadowSamples(const RunOptions& options, SampleDesign& design, SamplingCosts& costs,
                  SampleResults& results, SampleSchedule& schedule, ShadowPolicy& policy,
                  InputRecorder& recorder, LiveSamples& live);

    double expected_cost_seconds(const SampledProcess& process) const override {
        return process.kinds.expected_cost_seconds(SampleKind::shadow);
    }
    bool follows_load() const override { return true; }
    // Plans a live sample if the process cannot be forked, or if a fork might harm it.
    Result<Plan> plan(SampledProcess& process, SampleOrder order) override;
    std::optional<Clock::time_point> next_observation() const override;
    void observe(Clock::time_point now, const FindProcess& find) override;
    void stop_observing() override;
    void on_emulated(SampleRunner& runner, const FindProcess& find_process) override;
    void on_step(SampleRunner& runner) override;
    std::chrono::nanoseconds on_finished(SampleRunner& runner, const SampleReport& report,
                                         SampledProcess* process) override;
    void drop_if(const std::function<bool(std::uint64_t process)>& condition) override;
    void fill(Profile&) const override {}

  private:
    // A sample whose replica lives.
    struct Active {
        SampleRunner* runner = nullptr;  // null: its window is open
        Replica replica;
        Clock::time_point start;
        std::uint64_t process = 0;
        std::optional<InputRecorder::Lease> input;
    };
    // A sample whose emulation begins when its window is known.
    struct Open {
        SampleRunner::Lease runner;
        SampleJob job;
        WindowWatch window;
        std::list<Active>::iterator active;
    };

    Result<Planned> plan_steps(SampledProcess& process, SampleOrder order) override;
    ShadowShot take(SampledProcess& process, ShadowPlan plan) override;
    Result<SampleTaken> settle(SampledProcess& process, ShadowShot shot) override;
    Result<void> fork_in_stop(SampledProcess& process, ShadowShot& shot,
                              std::optional<std::uint64_t> max_input_stops);
    void watch_window(SampledProcess& process, ShadowShot& shot);
    Result<void> try_fork(ScopedStop& stop, SampledProcess& process, ShadowShot& shot);
    void begin(SampledProcess& process, ShadowShot shot);
    void close(SampledProcess* process);
    void note_window(SampledProcess& process, const SampleReport& report);
    std::list<Active>::iterator find(const SampleRunner& runner);
    void end_replica(std::list<Active>::iterator sample, SampledProcess* process);
    std::optional<SampleEnd> step(Active& sample, const StepExchange::Step& step, CpuState& cpu);

    const RunOptions& options_;
    SampleDesign& design_;
    SamplingCosts& costs_;
    SampleResults& results_;
    SampleSchedule& schedule_;
    ShadowPolicy& policy_;
    InputRecorder& recorder_;
    LiveSamples& live_;
    std::list<Active> active_;
    StateRoom room_;  // for the window of `open_`
    std::optional<Open> open_;
    unsigned lost_ = 0;  // lost windows in a row
};

}  // namespace shadowprof
