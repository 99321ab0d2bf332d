// A thread that takes samples one after the other: it owns a worker process, feeds the collector
// with its traces, and answers its questions. Steps on the replica it leaves to the main thread,
// which alone may use ptrace.
#pragma once

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
#include "shadow/environment_proc.h"
#include "shadow/sample_syscalls.h"

namespace shadowprof {

// A snapshot to emulate.
struct SampleJob {
    CpuState cpu;
    pid_t replica = 0;   // stands still until RunnerEvent::Kind::emulated
    int memory_fd = -1;  // the replica's memory; valid as long
    CapturedProcess captured;
    RunLimits limits;
    std::uint64_t seed = 0;
};

// What came of it.
struct SampleReport {
    SampleEnd end = SampleEnd::worker_lost;
    std::uint64_t instructions = 0;  // counted in the profile
    std::uint64_t single_stepped = 0;
    WorkerCounters counters = {};
    std::uint64_t collector_cpu_ns = 0;
    std::optional<SyscallReport> syscalls;
    std::optional<GuestAddress> missing;  // the replica had nothing where the sample faulted
    bool trace_damaged = false;
    bool replace_worker = false;  // it is lost, or cannot translate any more
    std::string error;            // why it is lost
};

class SampleRunner;

struct RunnerEvent {
    enum class Kind : std::uint8_t {
        emulated,  // the replica is no longer needed
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
                                                       ModuleTable& modules);
    // Ends the thread; a sample under way is given up. The worker process is killed: the caller
    // discards or reaps worker_pid().
    ~SampleRunner();

    pid_t worker_pid() const { return worker_->pid(); }
    bool is_idle() const { return idle_; }

    // All of these in the main thread. begin() needs an idle runner.
    void begin(SampleJob job);
    // The step that an event announced: what to execute, and the answer.
    struct Step {
        CpuState cpu;
        std::span<const StepPage> pages;
    };
    const Step& step() const { return step_; }
    void answer_step(const CpuState& cpu, std::optional<SampleEnd> end);
    SampleReport take_report();
    // Starts a new worker process in place of a lost one. Only while idle.
    Result<void> replace_worker();

  private:
    class Listener;

    SampleRunner(RunnerEvents& events, SampleCollector& collector, ModuleTable& modules)
        : events_(events), collector_(collector), modules_(modules) {}
    void work();
    SampleReport run(SampleJob& job);

    RunnerEvents& events_;
    SampleCollector& collector_;
    ModuleTable& modules_;
    std::optional<WorkerProcess> worker_;
    int misplaced_workers_ = 0;
    Unwinder unwinder_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<SampleJob> job_;
    std::optional<SampleReport> report_;
    Step step_;
    bool step_answered_ = false;
    std::optional<SampleEnd> step_end_;
    bool quit_ = false;
    bool idle_ = true;  // main thread only
    std::thread thread_;
};

}  // namespace shadowprof
