// Takes samples of a running target until it ends: stops it, forks a replica, lets it go on, and
// has the replica emulated by a runner. Where it cannot be forked, the runner emulates it while it
// is stopped (a burst).
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/result.h"
#include "profile/process_profile.h"
#include "ptrace/replica.h"
#include "ptrace/target.h"
#include "shadow/budget/budget.h"
#include "shadow/budget/burst_account.h"
#include "shadow/budget/cost_account.h"
#include "shadow/convergence.h"
#include "shadow/input/input_recorder.h"
#include "shadow/latency/latency_profiler.h"
#include "shadow/phase_detector.h"
#include "shadow/process_tree.h"
#include "shadow/processors.h"
#include "shadow/run_target.h"
#include "shadow/sample_runner.h"
#include "shadow/sample_schedule.h"
#include "shadow/sampling_settings.h"
#include "shadow/shadow_policy.h"
#include "shadow/thread_table.h"

namespace shadowprof {

// When sampling ends before the target does.
struct SamplingEnd {
    int request_fd = -1;            // when this is readable
    bool with_last_sample = false;  // when the options let no more samples be taken
};

class Sampler {
  public:
    using Clock = std::chrono::steady_clock;

    // `modules`, `profile` and `probes` must outlive it; the latter may be null.
    static Result<std::unique_ptr<Sampler>> create(const RunOptions& options, std::uint64_t seed,
                                                   WaitHub& hub, ModuleTable& modules,
                                                   ProcessProfile& profile,
                                                   const ProbeRequest* probes = nullptr);
    // Kills and reaps every replica and worker.
    ~Sampler();

    // Where commands come from while it runs; null: from nowhere.
    void obey(SamplingControl* control) { control_ = control; }

    // Samples the target, which runs, until it ends or `end` says so. In the latter case no replica
    // lives any more. So with what comes of it if it follows its forks; but it is the end of the
    // target that counts.
    Result<void> run(Target& target, const ProgressListener& on_progress,
                     const SamplingEnd& end = {});
    // Lets the target go, and what came of it. The answer is the target's.
    Result<void> detach(Target::Sleepers sleepers);
    // Finishes what is left of samples. None is begun.
    void finish();

    // Adds what was measured to sampling, overhead, syscalls and notes.
    void fill(Profile& profile) const;

  private:
    struct ActiveSample {
        Replica replica;
        Clock::time_point start;
        SampleRunner* runner = nullptr;
        std::uint64_t process = 0;
        std::optional<InputRecorder::Lease> input = {};
    };

    Sampler(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
            ProcessProfile& profile, const ProbeRequest* probes);
    Result<void> add_runner();
    Result<void> loop(Target& target, const ProgressListener& on_progress, const SamplingEnd& end);
    bool take_statuses();
    Result<void> dissolve(SampledProcess& process);
    void take_runner_events();
    void on_step(SampleRunner& runner);
    void on_finished(SampleRunner& runner);
    void after_sample(SampleRunner& runner, const SampleReport& report);
    bool may_take_more(Clock::time_point now) const;
    bool wants_sample(Clock::time_point now) const;
    void take_commands(Clock::time_point now);
    void look_for_end(const SamplingEnd& end, Clock::time_point now);
    bool is_busy() const;
    void try_sample();
    void sample_now(SampleRunner& runner, Clock::time_point now);
    Clock::time_point next_start() const { return std::max(not_before_, schedule_.next_start()); }
    enum class Taken : std::uint8_t {
        yes,
        idle,   // no thread executes instructions
        later,  // try again at once: the thread is in the vDSO, whose data no sample can read
    };
    Result<Taken> take_sample(SampledProcess& process, SampleRunner& runner, SampleKind kind);
    // What samples cost; see sampler_costs.cc.
    void settle(SampledProcess& process, Clock::time_point now);
    SampleKind choose_kind(const SampledProcess& process) const;
    double most_shadow_seconds(const SampledProcess& process) const;
    std::optional<Clock::time_point> too_dear_until(const SampledProcess& process, SampleKind kind,
                                                    Clock::time_point now) const;
    void schedule_next(Clock::time_point now, const SampledProcess* process);
    void note_pause(SampledProcess& process, SampleKind kind, Clock::duration pause);
    void keep_off_processors_of(const SampledProcess& process);
    std::uint64_t own_cpu_ns() const;
    Result<void> try_fork(ScopedStop& stop, SampledProcess& process,
                          std::optional<Replica>& replica);
    struct BurstInStop {
        bool taken = false;
        bool later = false;                        // try again at once
        bool valid = true;                         // its mappings were as the job said
        std::optional<std::string> maps_now = {};  // where not
        bool cut = false;                          // by the time
        std::optional<Error> refusal = {};
    };
    std::chrono::nanoseconds usable_time(std::size_t threads) const;
    Result<BurstInStop> stop_for_burst(SampledProcess& process, SampleRunner& runner,
                                       SampleJob job);
    void look(ScopedStop& stop, SampleRunner& runner, SampleJob job);
    Result<SampleJob> plan_burst(SampledProcess& process);
    Result<Taken> take_burst(SampledProcess& process, SampleRunner& runner);
    BurstInStop burst_in(ScopedStop& stop, SampleRunner& runner, SampleJob job);
    Result<Taken> finish_burst(SampledProcess& process, SampleRunner& runner,
                               const BurstInStop& burst);
    SampleJob new_job(const SampledProcess& process, SampleKind kind);
    std::optional<BurstPlan> burst_plan() const;
    // Latency bursts; see sampler_latency.cc.
    bool is_latency_due(const SampledProcess& process) const;
    // What a sample costs, and its part of the latency bursts.
    double with_latency(double sample_seconds) const;
    void take_latency_burst(SampledProcess& process, Clock::time_point now);
    RunLimits limits(std::uint64_t instructions, const Target& target);
    Taken note_idle(SampledProcess* process);
    bool leave_vdso(SampledProcess& process, std::vector<SampleThread>& threads);
    static void find_vdso(SampledProcess& process);
    static bool is_in_vdso(SampledProcess& process, GuestAddress pc);
    void look_for_unforked(const SampleReport& report);
    bool read_unforked(SampledProcess& process);
    bool check_unforked(SampledProcess& process);
    void note_refusal(const Error& error);
    std::list<ActiveSample>::iterator find_active(const SampleRunner& runner);
    void release(SampleRunner& runner);
    void count_syscall_stops();
    int sleep_ms(Clock::time_point now) const;
    SampleRunner* idle_runner();

    const RunOptions options_;
    WaitHub& hub_;
    ModuleTable& modules_;
    ProcessProfile& profile_;
    const ProbeRequest* probes_;
    std::mt19937_64 random_;
    SampleSchedule schedule_;
    std::optional<Budget> budget_;  // none: samples may cost what they cost
    const std::chrono::nanoseconds burst_limit_;
    BurstAccount bursts_;
    bool has_looked_ = false;       // where the threads are, before the first burst
    bool has_prepared_ = false;     // code for the first burst
    Clock::time_point not_before_;  // the next burst, as something is being made ready for it
    ShadowPolicy policy_;
    SamplingSettings settings_;
    SamplingControl* control_ = nullptr;
    CostAccount costs_;
    std::unique_ptr<RunnerEvents> events_;
    UniqueFd child_signals_;
    OwnProcessors own_processors_;
    std::vector<std::unique_ptr<SampleRunner>> runners_;
    InputRecorder recorder_;
    InputRecorder::Totals recorder_counted_;  // the part of its totals that is accounted for
    double syscall_stop_price_ns_ = 0;
    std::optional<LatencyProfiler> latency_;
    double latency_seconds_ = 0;     // that the target stood still for it
    bool latency_had_turn_ = false;  // the next one is that of samples
    std::list<ActiveSample> active_;
    std::optional<ConvergenceWatch> convergence_;
    PhaseDetector phase_detector_;

    std::optional<ProcessTree> processes_;
    Clock::time_point begin_, end_;
    std::uint64_t started_ = 0;
    bool dissolved_ = false;  // no process is ours to sample any more
    bool detached_ = false;
    // Set when sampling ends: how long samples that are under way may go on.
    std::optional<Clock::time_point> give_up_;

    ThreadTable threads_;
    SamplingStats stats_;
    CountScale scale_;  // of what is counted by process and thread
    SyscallStats syscalls_;
    std::map<std::string, std::uint64_t> end_reasons_;
    std::map<std::string, std::uint64_t> refusals_;
    std::uint64_t damaged_ = 0;
};

}  // namespace shadowprof
