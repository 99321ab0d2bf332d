// Samples a running target until it ends. Decides when a sample is taken, and of which process. The
// kinds of samples decide how (SampleSource).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/files/fd.h"
#include "base/result.h"
#include "profile/collect/process_profile.h"
#include "ptrace/process/target.h"
#include "shadow/emulation/runner_pool.h"
#include "shadow/input/input_recorder.h"
#include "shadow/looks/program_time.h"
#include "shadow/program/event_stops.h"
#include "shadow/program/process_tree.h"
#include "shadow/program/processors.h"
#include "shadow/request/run_hooks.h"
#include "shadow/request/run_options.h"
#include "shadow/request/sampling_control.h"
#include "shadow/request/shadow_policy.h"
#include "shadow/results/sample_results.h"
#include "shadow/sampler/live_samples.h"
#include "shadow/sampler/shadow_samples.h"
#include "shadow/sampler/source_choice.h"
#include "shadow/schedule/sample_design.h"
#include "shadow/schedule/sample_schedule.h"
#include "shadow/schedule/sampling_costs.h"
#include "shadow/schedule/sampling_settings.h"

namespace shadowprof {

// When sampling ends before the target does.
struct SamplingEnd {
    int request_fd = -1;  // sampling ends when it is readable
    // Whether sampling ends when the options allow no more samples, or the profile has stayed
    // converged.
    bool with_last_sample = false;
};

class Sampler {
  public:
    using Clock = std::chrono::steady_clock;

    // `hub`, `modules`, `profile` and `probes` must outlive it; `probes` may be null.
    static Result<std::unique_ptr<Sampler>> create(const RunOptions& options, std::uint64_t seed,
                                                   WaitHub& hub, ModuleTable& modules,
                                                   ProcessProfile& profile,
                                                   const ProbeRequest* probes = nullptr);
    // Kills and reaps every replica and worker.
    ~Sampler() = default;
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    // To be called before run(). Commands come from `control` during run(); null: there are none.
    void obey(SamplingControl* control) { control_ = control; }
    // To be called before run(), see SourceChoice::set_beside().
    void measure_beside(std::unique_ptr<SampleSource> source);
    // To be called before run(). `take_dump` makes profiles that are asked for during run(). It
    // must not wait until they are made.
    using TakeDump = std::function<void(DumpRequest, SampledSoFar)>;
    void dump_to(TakeDump take_dump) { take_dump_ = std::move(take_dump); }
    // To be called before run(). These descend from its target, and are sampled, too.
    void also_sample(std::vector<AttachedChild> children) { children_ = std::move(children); }
    // For sources that measure beside samples.
    SamplingCosts& costs() { return costs_; }

    // Samples the running target until it ends, or until `end` applies; then no replica lives any
    // more. If forks are followed, the processes that the target starts are sampled, too. run()
    // returns when the first process ends.
    Result<void> run(Target& target, const ProgressListener& on_progress,
                     const SamplingEnd& end = {});
    // Detaches from the target and the processes that descend from it. Returns the result for the
    // target.
    Result<void> detach(Target::Sleepers sleepers);
    // Finishes samples that are under way. None is begun.
    void finish();

    // Adds what was measured to sampling, overhead, syscalls and notes.
    void fill(Profile& profile) const;
    // Like fill(), for the run so far and a profile of this part. Does not take long. From the
    // first phase on the scale of counts is fixed.
    SampledSoFar so_far(DumpPart part);

  private:
    // A sample that was planned ahead of its moment.
    struct NextSample {
        SampleSource* source = nullptr;
        std::optional<std::uint64_t> process = {};  // number; none: chosen when it is due
        std::uint64_t exec_count = 0;
        double cost_seconds = 0;
        std::unique_ptr<PlannedSample> planned = {};  // null: planned at the sample's moment
    };

    Sampler(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
            const ProcessProfile& profile, const ProbeRequest* probes);
    // Drops samples of these processes whose replicas live.
    void drop_if(const std::function<bool(std::uint64_t process)>& condition);

    // The loop: sampler.cc.
    Result<void> loop(Target& target, const ProgressListener& on_progress, const SamplingEnd& end);
    void look(Clock::time_point now);
    std::optional<int> processor_to_look_at() const;
    void plan_look(bool is_on, Clock::time_point now);
    void wait(const SamplingEnd& end, Clock::time_point until);
    Clock::duration sleep_time(Clock::time_point now) const;
    bool take_statuses();
    Result<void> detach_unsupported();
    void let_go_where_stops_are_too_many();
    void follow_those_that_wait(Clock::time_point now);
    bool follow(SampledProcess& process);
    void take_commands(Clock::time_point now);
    void obey(const SamplingCommand& command, Clock::time_point now);
    using FillFromSource = void (SampleSource::*)(Profile& profile) const;
    void fill(Profile& profile, Clock::time_point end, FillFromSource fill_from_source) const;
    std::size_t max_runners() const;
    void check_for_end(const SamplingEnd& end, Clock::time_point now);
    void take_syscall_stops() { costs_.take_syscall_stops(recorder_.totals()); }

    // The steps of one sample: sampler_step.cc.
    bool may_take_more(Clock::time_point now) const;
    bool may_sample(Clock::time_point now) const;
    bool plan_or_take(Clock::time_point now);
    Clock::time_point next_start() const { return std::max(not_before_, schedule_.next_start()); }
    Clock::time_point next_step() const;
    bool plans_ahead() const;
    void drop_plan();
    bool visit_processor_of(const SampledProcess& process);
    void end_visit();
    void plan_or_visit(Clock::time_point now);
    void try_plan(Clock::time_point now);
    void plan(SampleRunner::Lease runner, Clock::time_point now);
    bool follow_again(SampledProcess& process, Clock::time_point now);
    void plan(SampledProcess& process, SampleRunner::Lease runner, Clock::time_point now,
              bool is_paid);
    void wait_for_moment(SampledProcess& process, NextSample next);
    void take(NextSample next, Clock::time_point now);
    void on_tried(SampledProcess& process, const NextSample& next,
                  const Result<SampleTaken>& taken);
    void on_idle(SampledProcess& process);
    void note(SampledProcess& process, const SampleTaken& taken);
    SampleSource* looking() const;
    SampleSource::FindProcess finder();
    bool observe(Clock::time_point now);
    void stop_observing();
    void keep_off_processors_of(const SampledProcess& process);
    void schedule_next(const SampledProcess* process);
    void take_runner_events();
    bool is_timed(const SampledProcess& process, const SampleReport& report) const;
    void on_counted(SampledProcess& process, const SampleReport& report);
    void on_finished(SampleRunner& runner);

    // The order matters: members are destroyed in reverse order, and use those before them.
    const RunOptions options_;
    WaitHub& hub_;
    UniqueFd child_signals_;
    SamplingControl* control_ = nullptr;
    TakeDump take_dump_;
    SamplingSettings settings_;
    SamplingCosts costs_;
    EventStops event_stops_;
    SampleDesign design_;
    SampleSchedule schedule_;
    SampleResults results_;
    ShadowPolicy policy_;
    InputRecorder recorder_;
    OwnProcessors own_processors_;
    std::vector<AttachedChild> children_;   // until run()
    std::optional<ProcessTree> processes_;  // set by run()
    std::optional<ProgramTime> time_;       // if it is wanted
    std::unique_ptr<RunnerPool> runners_;
    LiveSamples live_;
    ShadowSamples shadows_;
    std::unique_ptr<SampleSource> beside_;
    std::vector<SampleSource*> sources_;
    SourceChoice choice_;

    Clock::time_point begin_;
    std::optional<Clock::time_point> end_;
    Clock::time_point not_before_;  // for the next sample
    std::optional<NextSample> next_;
    Clock::time_point plan_not_before_;               // for its plan, if something was missing
    std::optional<OwnProcessors::Visit> visit_;       // for the next sample
    std::optional<OwnProcessors::Visit> look_visit_;  // for the next look at threads
    Clock::time_point look_planned_;                  // the look for which it was tried
    WaitingProcessor waiting_processor_of_several_;   // used if there are several processes
    std::uint64_t taken_ = 0;                         // samples that count toward max_samples
    Clock::duration waited_{};                        // for statuses, since they were taken last
    std::chrono::nanoseconds paused_{};               // SamplingCosts::stopped() at that time
    bool nothing_to_sample_ = false;
    bool detached_ = false;
    // Set when sampling ends: until when samples under way may go on.
    std::optional<Clock::time_point> give_up_;
};

}  // namespace shadowprof
