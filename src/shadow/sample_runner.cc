#include "shadow/sample_runner.h"

#include <sys/eventfd.h>

#include <csignal>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "shadow/emulation_worker.h"
#include "shadow/environment_remote.h"

namespace shadowprof {
namespace {

// How many workers are tried that have no room for the program's mappings.
constexpr int most_misplaced_workers = 8;

std::uint64_t thread_cpu_ns() {
    return static_cast<std::uint64_t>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

}  // namespace

Result<std::unique_ptr<RunnerEvents>> RunnerEvents::create() {
    UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd) return errno_error("eventfd");
    return std::unique_ptr<RunnerEvents>(new RunnerEvents(std::move(fd)));
}

void RunnerEvents::post(const RunnerEvent& event) {
    {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
    }
    eventfd_write(fd_.get(), 1);
}

std::optional<RunnerEvent> RunnerEvents::take() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
        eventfd_t count = 0;
        eventfd_read(fd_.get(), &count);
        return std::nullopt;
    }
    const auto event = events_.front();
    events_.pop_front();
    return event;
}

// One sample's traces and questions.
class SampleRunner::Listener final : public SampleListener {
  public:
    Listener(SampleRunner& runner, SampleEnvironment& environment, SampleReport& report)
        : runner_(runner), environment_(environment), report_(report) {}

    void on_trace(std::span<const std::uint64_t> words, const BlockTable& table) override {
        const auto batch = runner_.collector_.add(words, table);
        report_.instructions += batch.instructions;
        report_.trace_damaged |= batch.damaged;
    }
    void on_emulated() override { runner_.events_.post({&runner_, RunnerEvent::Kind::emulated}); }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override {
        return answer_environment_request(request, environment_);
    }
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        std::unique_lock lock(runner_.mutex_);
        if (runner_.quit_) return SampleEnd::stopped;
        runner_.step_ = {cpu, pages};
        runner_.step_answered_ = false;
        runner_.events_.post({&runner_, RunnerEvent::Kind::step});
        runner_.changed_.wait(lock, [&] { return runner_.step_answered_ || runner_.quit_; });
        if (!runner_.step_answered_) return SampleEnd::stopped;
        cpu = runner_.step_.cpu;
        return runner_.step_end_;
    }

  private:
    SampleRunner& runner_;
    SampleEnvironment& environment_;
    SampleReport& report_;
};

Result<std::unique_ptr<SampleRunner>> SampleRunner::start(RunnerEvents& events,
                                                          SampleCollector& collector,
                                                          ModuleTable& modules) {
    std::unique_ptr<SampleRunner> runner(new SampleRunner(events, collector, modules));
    TRY_ASSIGN(runner->worker_, start_emulation_worker());
    runner->thread_ = start_quiet_thread([self = runner.get()] { self->work(); });
    return runner;
}

SampleRunner::~SampleRunner() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    changed_.notify_all();
    if (worker_) kill(worker_->pid(), SIGKILL);
    if (thread_.joinable()) thread_.join();
}

void SampleRunner::begin(SampleJob job) {
    {
        const std::lock_guard lock(mutex_);
        job_ = std::move(job);
    }
    idle_ = false;
    changed_.notify_all();
}

void SampleRunner::answer_step(const CpuState& cpu, std::optional<SampleEnd> end) {
    {
        const std::lock_guard lock(mutex_);
        step_.cpu = cpu;
        step_end_ = end;
        step_answered_ = true;
    }
    changed_.notify_all();
}

SampleReport SampleRunner::take_report() {
    const std::lock_guard lock(mutex_);
    idle_ = true;
    auto report = std::move(report_).value_or(SampleReport{});
    report_.reset();
    return report;
}

Result<void> SampleRunner::replace_worker() {
    kill(worker_->pid(), SIGKILL);
    TRY_ASSIGN(worker_, start_emulation_worker());
    collector_.new_emulator();
    return {};
}

void SampleRunner::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return job_ || quit_; });
        if (quit_) return;
        auto job = std::move(*job_);
        job_.reset();
        lock.unlock();
        auto report = run(job);
        lock.lock();
        report_ = std::move(report);
        events_.post({this, RunnerEvent::Kind::finished});
    }
}

SampleReport SampleRunner::run(SampleJob& job) {
    SampleReport report;
    const auto cpu_before = thread_cpu_ns();
    const auto maps_text = read_maps_text(job.replica);
    const auto map = maps_text ? MemoryMap::parse(*maps_text) : maps_text.error();
    if (!map) {
        report.end = SampleEnd::replica_lost;
        return report;
    }
    const SyscallSeed facts{job.seed};
    const auto begun = worker_->begin_sample({.cpu = job.cpu,
                                              .limits = job.limits,
                                              .maps_text = *maps_text,
                                              .facts = std::as_bytes(std::span(&facts, 1)),
                                              .memory_fd = job.memory_fd});

    // While the worker is under way already: the replica lives for as long as it takes.
    ProcessMemory memory(job.replica);
    const auto stack = unwinder_.unwind(job.cpu, *map, memory);
    MapResolver resolver(*map, modules_);
    ProcEnvironment environment(std::move(job.captured), job.replica,
                                ProcEnvironment::Frozen::replica);
    Listener listener(*this, environment, report);
    collector_.begin({.resolver = resolver, .stack = stack});
    auto outcome = begun ? worker_->finish_sample(listener) : begun.error();
    collector_.end();
    report.collector_cpu_ns = thread_cpu_ns() - cpu_before;
    if (!outcome) {
        report.error = outcome.error().message;
        report.replace_worker = true;
        return report;
    }
    report.end = outcome->result.end;
    if (report.end == SampleEnd::fault && !map->find(outcome->result.fault_address))
        report.missing = outcome->result.fault_address;
    report.single_stepped = outcome->result.single_stepped;
    report.counters = outcome->counters;
    report.syscalls = SyscallReport::parse(outcome->syscall_report);
    // Another worker lies elsewhere.
    const bool misplaced =
        report.end == SampleEnd::no_room && misplaced_workers_++ < most_misplaced_workers;
    report.replace_worker = outcome->worker_exhausted || report.trace_damaged || misplaced;
    return report;
}

}  // namespace shadowprof
