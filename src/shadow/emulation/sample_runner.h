// A thread that takes samples one after the other: it has their snapshots emulated and the
// collector fed. It leaves steps on a replica to the tracing thread, which alone may use ptrace.
//
// The tracing thread holds a runner by a lease, which begins one sample:
//
//     auto lease = runner.try_lease();
//     std::move(*lease).begin(source, job);                  a shadow sample, which ends by itself
//
//     auto run = std::move(*lease).begin_live(source, job);  a live sample, in the stop
//     run.follow();                                          in the stop
//     std::move(run).end();                                  after it
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "shadow/emulation/runner_events.h"
#include "shadow/emulation/sample_emulation.h"
#include "shadow/emulation/step_exchange.h"
#include "shadow/window/preparation.h"
#include "shadow/window/sample_job.h"

namespace shadowprof {

class SampleSource;

class SampleRunner final : private EmulationHooks {
  public:
    class Lease;
    class LiveRun;

    // Starts the worker process and the thread. To be called in the thread that lives longest, as a
    // worker dies with the thread that started it. All arguments must outlive it.
    static Result<std::unique_ptr<SampleRunner>> start(RunnerEvents& events,
                                                       SampleCollector& collector,
                                                       ModuleTable& modules,
                                                       const ProbeRequest* probes);
    // Calls give_up(), unless that was done, and waits for the thread.
    ~SampleRunner() override;
    SampleRunner(const SampleRunner&) = delete;
    SampleRunner& operator=(const SampleRunner&) = delete;

    pid_t worker_pid() const { return emulation_.worker_pid(); }

    // All of these are for the tracing thread.
    //
    // Whether no sample is under way.
    bool is_idle() const { return idle_; }
    // The source of the sample that is under way, or was the last. Null before the first.
    SampleSource* source() const { return source_; }
    // The runner must be idle. Returns nothing if it translates ahead at this moment; it will have
    // stopped a moment later.
    std::optional<Lease> try_lease();
    // The step that an event announced, and the answer to it.
    const StepExchange::Step& step() const { return steps_.step(); }
    void answer_step(const CpuState& cpu, std::optional<SampleEnd> end) { steps_.answer(cpu, end); }
    // To be called after RunnerEvent::Kind::finished.
    SampleReport take_report();
    // To be called between live samples. Has the worker translate ahead for `time` in all, from
    // where the last live sample, or Lease::observe(), saw the threads.
    void prepare(std::chrono::nanoseconds time);
    // Begins no further slice of translating ahead.
    void stop_preparing();
    PreparationTotals prepared();
    // Gives up a sample under way: what is not yet in the collector does not count. Kills the
    // worker process; the caller discards or reaps worker_pid(). Only that and the destructor may
    // follow.
    void give_up();
    // Starts a new worker process in place of a lost one. The runner must be idle.
    Result<void> replace_worker() { return emulation_.start_worker(); }

  private:
    SampleRunner(RunnerEvents& events, SampleCollector& collector, ModuleTable& modules,
                 const ProbeRequest* probes)
        : events_(events), emulation_(collector, modules, probes) {}
    void on_emulated() override;
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override;
    bool is_given_up() override;
    void release();
    void begin(SampleSource& source);
    void post(SampleJob job);
    bool wait_until_emulated(std::chrono::steady_clock::time_point until);
    void work();
    void work_ahead(std::unique_lock<std::mutex>& lock);
    std::optional<Preparation> begin_preparation(std::chrono::nanoseconds time);
    SampleReport run(SampleJob& job);

    RunnerEvents& events_;
    // Used by the runner's thread, or by the tracing thread while the runner is idle and leased.
    SampleEmulation emulation_;
    // What the last live sample, or Lease::observe(), saw. Used like emulation_.
    std::optional<SampleJob> seen_;
    StepExchange steps_;

    std::atomic<pid_t> thread_id_{0};  // 0: the thread has not begun yet

    bool idle_ = true;  // used by the tracing thread
    SampleSource* source_ = nullptr;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<SampleJob> job_;
    bool job_is_live_ = false;  // the last job
    bool emulated_ = false;     // the last job, if it is live
    std::optional<SampleReport> report_;
    bool quit_ = false;
    bool leased_ = false, slicing_ = false;
    std::optional<std::chrono::nanoseconds> preparation_time_;  // for the next preparation
    std::optional<Preparation> preparation_;
    PreparationTotals prepared_;
    std::thread thread_;
};

// The right to begin a sample. While it lives, the runner translates nothing ahead.
class [[nodiscard]] SampleRunner::Lease {
  public:
    Lease(Lease&& other) noexcept : runner_(std::exchange(other.runner_, nullptr)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
        if (runner_) runner_->release();
    }

    pid_t worker_pid() const { return runner_->worker_pid(); }
    // See SampleEmulation::prepare_probes(). Not to be called in a stop.
    Result<bool> prepare_probes(const MemoryMap& map) {
        return runner_->emulation_.prepare_probes(map);
    }
    // Begins a sample of a replica. Its events are for `source`.
    SampleRunner& begin(SampleSource& source, SampleJob job) &&;
    // Begins a live sample. To be called in the stop; does only what takes little time.
    LiveRun begin_live(SampleSource& source, SampleJob job) &&;
    // To be called in a stop, without a sample. Notes where the threads are.
    void observe(SampleJob job);
    // Gives the runner back to translate ahead: see SampleRunner::prepare().
    void prepare(std::chrono::nanoseconds time) && {
        std::exchange(runner_, nullptr)->prepare(time);
    }

  private:
    friend class SampleRunner;
    explicit Lease(SampleRunner& runner) : runner_(&runner) {}

    SampleRunner* runner_;
};

// A live sample that is being emulated. Needs follow() in the stop and end() after it, or discard()
// instead of both. The destructor calls what is missing after the stop.
class [[nodiscard]] SampleRunner::LiveRun {
  public:
    LiveRun(LiveRun&& other) noexcept
        : runner_(std::exchange(other.runner_, nullptr)),
          job_(std::move(other.job_)),
          was_followed_(other.was_followed_) {}
    LiveRun& operator=(LiveRun&&) = delete;
    ~LiveRun() {
        if (!runner_) return;
        if (was_followed_)
            std::move(*this).end();
        else
            std::move(*this).discard(std::nullopt);
    }

    // Valid before follow(), and after it if recorded_pages() returns something.
    const SampleJob& job() const { return *job_; }
    // To be called in the stop. Waits until the emulation no longer needs the process, or until
    // LiveSnapshot::until, after which it does without. Returns false if it was not at its end.
    bool follow();
    // After follow() and until end(): the pages that the emulation has read from the process. With
    // them it can be repeated, to find out where a window ends. Nothing if it cannot.
    std::optional<EarlierPages> recorded_pages() const {
        const bool is_wanted = job_ && job_->may_have_window;
        return is_wanted ? runner_->emulation_.recorded_pages() : std::nullopt;
    }
    // Only to be called if recorded_pages() returned something.
    void set_window(const SampleWindow& window) { job_->window = window; }
    // To be called if the process's mappings were as the job said.
    void end() &&;
    // To be called if they were not, or could not be read: the sample is void. Not after follow().
    void discard(const std::optional<std::string>& maps_now) &&;

  private:
    friend class SampleRunner::Lease;
    LiveRun(SampleRunner& runner, SampleJob job) : runner_(&runner), job_(std::move(job)) {}

    SampleRunner* runner_;
    std::optional<SampleJob> job_;  // until the runner's thread has it
    bool was_followed_ = false;
};

}  // namespace shadowprof
