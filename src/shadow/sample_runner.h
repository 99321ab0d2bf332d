// A thread that takes samples one after the other: it owns a worker process, feeds the collector
// with its traces, and answers its questions. Steps on the replica it leaves to the main thread,
// which alone may use ptrace.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.h"
#include "emu/worker_process.h"
#include "profile/process_profile.h"
#include "ptrace/unwind.h"
#include "shadow/budget/kind_choice.h"
#include "shadow/preparation.h"
#include "shadow/probe_request.h"
#include "shadow/sample_syscalls.h"
#include "shadow/stack_copies.h"
#include "shadow/syscalls/environment_proc.h"

namespace shadowprof {

// A thread of a snapshot.
struct SampleThread {
    pid_t tid = 0;
    bool runs = true;  // or waits on a futex
    CpuState cpu;
};

// A snapshot to emulate: a replica, or in a burst the target itself.
struct SampleJob {
    using Clock = std::chrono::steady_clock;

    std::vector<SampleThread> threads;  // the first one runs
    pid_t replica = 0;                  // stands still until RunnerEvent::Kind::emulated
    int memory_fd = -1;                 // the replica's memory; valid as long
    // In a burst `replica` is the target, which is stopped until then at most; memory_fd is
    // `own_memory`.
    std::optional<Clock::time_point> stopped_until;
    UniqueFd own_memory;
    CapturedProcess captured;
    RunLimits limits;
    std::uint64_t seed = 0;
    bool follows_new_threads = true;      // SampleRules::follows_new_threads
    std::optional<BurstPlan> bursts;      // nothing: everything counts
    std::uint64_t skip_instructions = 0;  // SampleStart::skip_instructions
    std::uint64_t process = 0;            // SampledProcess::number
    std::uint32_t weight = 1;             // SampleSchedule::weight()
    bool is_whole = false;                // the replica has what other forks would leave out
    // Of a burst: the mappings, as text and, where there was time for it, parsed.
    std::string maps_text;
    std::optional<MemoryMap> map;
    bool is_void = false;                   // the mappings were others
    std::shared_ptr<InputRecording> input;  // null: none is recorded

    bool is_burst() const { return stopped_until.has_value(); }
};

// What a thread executed of a sample.
struct ThreadShare {
    pid_t tid = 0;  // 0: it began in the sample
    std::uint64_t instructions = 0;
};

// What came of it.
struct SampleReport {
    bool is_void = false;       // no sample: the snapshot was not what it was taken for
    std::uint64_t process = 0;  // SampleJob::process
    SampleKind kind = SampleKind::shadow;
    std::uint32_t weight = 1;  // SampleJob::weight
    pid_t pid = 0;             // of that
    SampleEnd end = SampleEnd::worker_lost;
    std::uint64_t instructions = 0;     // counted in the profile
    std::vector<ThreadShare> threads;   // of these; only threads that executed some
    std::uint64_t stopped_threads = 0;  // RunResult::stopped_threads
    std::uint64_t single_stepped = 0;
    WorkerCounters counters = {};
    std::uint64_t collector_cpu_ns = 0;
    BlockVector blocks;
    std::optional<SyscallReport> syscalls;
    std::optional<GuestAddress> missing;  // the replica had nothing where the sample faulted
    bool wiped = false;  // the replica had zeros where the target has data: nothing was counted
    bool trace_damaged = false;
    bool replace_worker = false;  // it is lost, or cannot translate any more
    std::string error;            // why it is lost
};

class SampleRunner;

struct RunnerEvent {
    enum class Kind : std::uint8_t {
        emulated,  // the replica is no longer needed; not of bursts
        step,      // answer_step() is waited for
        finished,  // take_report()
    };
    SampleRunner* runner = nullptr;
    Kind kind = Kind::finished;
};

// Events of all runners, for the main thread's loop.
class RunnerEvents {
  public:
    static Result<std::unique_ptr<RunnerEvents>> create();

    // Becomes readable when there are events.
    int fd() const { return fd_.get(); }
    void post(const RunnerEvent& event);
    std::optional<RunnerEvent> take();

  private:
    explicit RunnerEvents(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
    std::mutex mutex_;
    std::deque<RunnerEvent> events_;
};

class SampleRunner {
  public:
    // Starts the worker process and the thread. To be called in the thread that lives longest: a
    // worker dies with the thread that started it.
    static Result<std::unique_ptr<SampleRunner>> start(RunnerEvents& events,
                                                       SampleCollector& collector,
                                                       ModuleTable& modules,
                                                       const ProbeRequest* probes);
    // Ends the thread; a sample under way is given up. The worker process is killed: the caller
    // discards or reaps worker_pid().
    ~SampleRunner();

    pid_t worker_pid() const { return worker_->pid(); }
    bool is_idle() const { return idle_; }

    // All of these in the main thread.
    //
    // Before begin() or begin_burst(), or a moment later where this is false: the runner is idle
    // but for a slice of preparation, and begins no other.
    bool try_hold();
    // None of the two follows after all.
    void let_go();
    void begin(SampleJob job);
    // Before begin_burst(), outside of the stop: what is probed in code that is mapped so. False:
    // that is not known yet.
    Result<bool> prepare_probes(const MemoryMap& map) { return probes_.try_prepare(*worker_, map); }
    // The same with a burst, in the stop: lets the worker begin at once. Between this and
    // end_burst(), follow_burst() waits until the burst needs the target no longer, or until
    // job.stopped_until: from then on it does without. False: it was not at its end.
    void begin_burst(SampleJob job);
    bool follow_burst();
    const std::string& burst_maps() const { return burst_->maps_text; }
    // After the stop, where the target's mappings were as the job said.
    void end_burst();
    // The same where they were others, or could not be read.
    void end_void_burst(const std::optional<std::string>& maps_now);
    // The step that an event announced: what to execute, and the answer.
    struct Step {
        CpuState cpu;
        std::span<const StepPage> pages;
    };
    const Step& step() const { return step_; }
    void answer_step(const CpuState& cpu, std::optional<SampleEnd> end);
    SampleReport take_report();
    // Between bursts: has the worker translate ahead from where the last one, or a look, saw the
    // threads, for as long as `time` in all.
    void prepare(std::chrono::nanoseconds time);
    // Instead of a burst, in a stop: takes down where the threads are.
    void look(SampleJob job);
    PreparationTotals prepared();
    // Starts a new worker process in place of a lost one. Only while idle.
    Result<void> replace_worker();

  private:
    class Listener;

    SampleRunner(RunnerEvents& events, SampleCollector& collector, ModuleTable& modules,
                 const ProbeRequest* probes)
        : events_(events), collector_(collector), modules_(modules), probes_(probes, modules) {}
    Result<void> let_begin(const SampleJob& job);
    Result<void> begin_shadow(SampleJob& job);
    std::optional<std::vector<GuestAddress>> stack_of(const SampleJob& job,
                                                      GuestThreads::Index thread);
    void copy_stack(const SampleJob& job, GuestThreads::Index thread);
    void post(SampleJob job);
    void work();
    void work_ahead(std::unique_lock<std::mutex>& lock);
    std::optional<Preparation> begin_preparation(std::chrono::nanoseconds time);
    SampleReport run(SampleJob& job);
    SampleReport emulate(SampleJob& job);
    void note_emulated();
    bool is_wiped(const SampleJob& job);

    RunnerEvents& events_;
    SampleCollector& collector_;
    ModuleTable& modules_;
    WorkerProbes probes_;
    std::optional<WorkerProcess> worker_;
    int misplaced_workers_ = 0;
    Unwinder unwinder_;
    std::uint64_t last_process_ = 0;
    // When to look again for what forks wipe.
    SampleJob::Clock::time_point next_look_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<SampleJob> job_;
    std::optional<SampleReport> report_;
    Step step_;
    bool step_answered_ = false;
    std::optional<SampleEnd> step_end_;
    bool emulated_ = false;  // of a burst
    bool quit_ = false;
    bool idle_ = true;  // main thread only
    bool held_ = false, slicing_ = false;
    std::optional<std::chrono::nanoseconds> preparation_time_;  // of one that is to begin
    std::optional<Preparation> preparation_;
    PreparationTotals prepared_;
    // What the last burst or look saw; the thread's, or the main thread's while that has no job.
    std::optional<SampleJob> seen_;
    std::vector<GuestAddress> seen_at_;
    // Of a burst, until it is handed to the thread.
    std::optional<SampleJob> burst_;
    StackCopies stacks_;
    Result<void> begun_ = {};  // the worker has the job
    bool forget_code_ = false;
    std::thread thread_;
};

}  // namespace shadowprof
