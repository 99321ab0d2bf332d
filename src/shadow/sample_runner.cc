#include "shadow/sample_runner.h"

#include <sys/eventfd.h>

#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/unforked_memory.h"
#include "shadow/emulation_worker.h"
#include "shadow/syscalls/environment_remote.h"

namespace shadowprof {
namespace {

// Looking for memory that forks wipe takes the longer the more memory there is: a hundredth of the
// time.
constexpr int look_share = 100;
constexpr std::chrono::milliseconds least_between_looks{25};

// How many workers are tried that have no room for the program's mappings.
constexpr int most_misplaced_workers = 8;

bool is_over(const SampleJob& job) {
    return job.stopped_until && SampleJob::Clock::now() >= *job.stopped_until;
}

// A sample of a program that touches ever new memory would copy it all. After this time, and the
// slowest emulation that there is, one that still wants some of it ends.
constexpr std::chrono::milliseconds longest_fetching{250};
constexpr std::chrono::nanoseconds slowest_instruction{20};

// The steady clock is CLOCK_MONOTONIC.
std::int64_t stands_still_until_ns(const SampleJob& job) {
    const auto emulation = slowest_instruction * std::min(job.limits.instructions, 1ul << 40);
    const auto until =
        job.stopped_until.value_or(SampleJob::Clock::now() + longest_fetching + emulation);
    return std::chrono::nanoseconds(until.time_since_epoch()).count();
}

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
    // `begin` lets the collector begin with a thread, and is called once for each, that with index
    // 0 first. False: the trace is dropped.
    using Begin = std::function<bool(GuestThreads::Index)>;
    Listener(SampleRunner& runner, SampleEnvironment& environment, const SampleJob& job,
             Begin begin, SampleReport& report)
        : runner_(runner),
          environment_(environment),
          job_(job),
          begin_(std::move(begin)),
          report_(report) {}

    // While the replica lives, whose stack it is. In a burst the stack is copied, to be unwound
    // when there is time.
    void on_thread(GuestThreads::Index thread) override {
        if (job_.is_burst()) return runner_.copy_stack(job_, thread);
        begin(thread);
    }
    void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                  const BlockTable& table) override {
        begin(thread);
        if (!collects_) return;
        const auto batch = runner_.collector_.add(thread, words, table);
        instructions_[thread] += batch.instructions;
        report_.trace_damaged |= batch.damaged;
    }
    void on_probe(const ProbeRecord& record) override {
        if (record.thread >= GuestThreads::max_threads) return;
        begin(record.thread);
        if (collects_) runner_.collector_.add_probed(record);
    }
    void begin(GuestThreads::Index thread) {
        const auto needed = std::max<std::size_t>(thread + 1u, begun_.size());
        begun_.resize(needed);
        instructions_.resize(needed);
        for (const GuestThreads::Index each : {GuestThreads::Index{0}, thread}) {
            if (begun_[each]) continue;
            begun_[each] = true;
            collects_ = begin_(each) && collects_;
        }
    }
    // When the last of the trace has come.
    void conclude() {
        for (std::size_t i = 0; i < instructions_.size(); ++i) {
            if (instructions_[i] == 0) continue;
            const bool from_snapshot = i < job_.threads.size();
            report_.threads.push_back({from_snapshot ? job_.threads[i].tid : 0, instructions_[i]});
            report_.instructions += instructions_[i];
        }
    }
    void on_emulated() override {
        if (job_.is_burst()) return runner_.note_emulated();
        runner_.events_.post({&runner_, RunnerEvent::Kind::emulated});
    }
    std::vector<std::byte> on_request(std::span<const std::byte> request) override {
        return answer_environment_request(request, environment_);
    }
    std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) override {
        if (job_.is_burst())
            return SampleEnd::unsupported_instruction;  // there is nothing to step on
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
    const SampleJob& job_;
    const Begin begin_;
    bool collects_ = true;
    SampleReport& report_;
    std::vector<bool> begun_;                  // by thread
    std::vector<std::uint64_t> instructions_;  // the same
};

Result<std::unique_ptr<SampleRunner>> SampleRunner::start(RunnerEvents& events,
                                                          SampleCollector& collector,
                                                          ModuleTable& modules,
                                                          const ProbeRequest* probes) {
    std::unique_ptr<SampleRunner> runner(new SampleRunner(events, collector, modules, probes));
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

bool SampleRunner::try_hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
    return !slicing_;
}

void SampleRunner::let_go() {
    {
        const std::lock_guard lock(mutex_);
        held_ = false;
    }
    changed_.notify_all();
}

void SampleRunner::prepare(std::chrono::nanoseconds time) {
    {
        const std::lock_guard lock(mutex_);
        preparation_time_ = time;
        held_ = false;
    }
    changed_.notify_all();
}

void SampleRunner::look(SampleJob job) {
    stacks_.begin();
    for (std::size_t i = 0; i < job.threads.size(); ++i)
        stacks_.copy(job.replica, i, {job.threads[i].cpu[Gpr::rsp]});
    seen_at_.clear();
    seen_ = std::move(job);
}

void SampleRunner::begin(SampleJob job) {
    idle_ = false;
    emulated_ = false;
    post(std::move(job));
}

void SampleRunner::post(SampleJob job) {
    {
        const std::lock_guard lock(mutex_);
        job_ = std::move(job);
        held_ = false;
        preparation_time_.reset();
        preparation_.reset();
    }
    changed_.notify_all();
}

Result<void> SampleRunner::let_begin(const SampleJob& job) {
    const SampleRules facts{.random_seed = job.seed,
                            .has_recorded_input = job.input != nullptr,
                            .follows_new_threads = job.follows_new_threads};
    std::vector<StartThread> more;
    for (const auto& thread : std::span(job.threads).subspan(1))
        more.push_back({thread.cpu, thread.runs});
    return worker_->begin_sample({.cpu = job.threads[0].cpu,
                                  .more_threads = more,
                                  .limits = job.limits,
                                  .maps_text = job.maps_text,
                                  .facts = std::as_bytes(std::span(&facts, 1)),
                                  .memory_fd = job.memory_fd,
                                  .stands_still_until_ns = stands_still_until_ns(job),
                                  .forget_code = std::exchange(forget_code_, false),
                                  .stack_limit_bytes = stack_limit_bytes(job.captured.pid)});
}

// All that can be done without the thread, as waking it up takes time.
void SampleRunner::begin_burst(SampleJob job) {
    idle_ = false;
    emulated_ = false;
    burst_ = std::move(job);
    begun_ = let_begin(*burst_);
    stacks_.begin();
    copy_stack(*burst_, 0);
    if (burst_->map || !begun_) return;
    auto map = MemoryMap::parse(burst_->maps_text);
    if (map)
        burst_->map = std::move(*map);
    else
        begun_ = std::move(map).error();
}

bool SampleRunner::follow_burst() {
    if (!begun_) return true;
    const auto until = *burst_->stopped_until;
    const auto followed = worker_->follow_sample(
        until, [&](GuestThreads::Index thread) { copy_stack(*burst_, thread); });
    using enum WorkerProcess::Followed;
    if (!followed || *followed != to_a_question) return !followed || *followed != to_the_time;
    post(*std::exchange(burst_, std::nullopt));
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return emulated_; });
}

void SampleRunner::end_burst() {
    if (burst_) post(*std::exchange(burst_, std::nullopt));
}

void SampleRunner::end_void_burst(const std::optional<std::string>& maps_now) {
    forget_code_ = !maps_now || has_other_code(burst_->maps_text, *maps_now);
    burst_->is_void = true;
    post(*std::exchange(burst_, std::nullopt));
}

void SampleRunner::copy_stack(const SampleJob& job, GuestThreads::Index thread) {
    if (thread < job.threads.size() && !is_over(job))
        stacks_.copy(job.replica, thread, {job.threads[thread].cpu[Gpr::rsp]});
}

// While the emulation is under way, whose trace waits.
bool SampleRunner::is_wiped(const SampleJob& job) {
    const auto start = SampleJob::Clock::now();
    if (job.is_whole || job.is_burst() || start < next_look_) return false;
    const auto wiped = has_wiped_memory(job.replica);
    const auto end = SampleJob::Clock::now();
    next_look_ =
        end + std::max<SampleJob::Clock::duration>(look_share * (end - start), least_between_looks);
    return wiped && *wiped;
}

void SampleRunner::note_emulated() {
    {
        const std::lock_guard lock(mutex_);
        emulated_ = true;
    }
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

PreparationTotals SampleRunner::prepared() {
    const std::lock_guard lock(mutex_);
    return prepared_;
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
    forget_code_ = false;
    probes_.new_worker();
    collector_.new_emulator();
    return {};
}

void SampleRunner::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        const auto may_prepare = [&] { return !held_ && (preparation_time_ || preparation_); };
        changed_.wait(lock, [&] { return job_ || quit_ || may_prepare(); });
        if (quit_) return;
        if (!job_) {
            work_ahead(lock);
            continue;
        }
        auto job = std::move(*job_);
        job_.reset();
        lock.unlock();
        auto report = run(job);
        lock.lock();
        report_ = std::move(report);
        events_.post({this, RunnerEvent::Kind::finished});
    }
}

// One slice, without the lock.
void SampleRunner::work_ahead(std::unique_lock<std::mutex>& lock) {
    const auto begins = std::exchange(preparation_time_, std::nullopt);
    slicing_ = true;
    lock.unlock();
    if (begins) preparation_ = begin_preparation(*begins);
    auto totals = prepared_;
    const auto more = preparation_ ? preparation_->work(*worker_, forget_code_, totals) : false;
    lock.lock();
    slicing_ = false;
    prepared_ = totals;
    if (!more || !*more) preparation_.reset();
}

std::optional<Preparation> SampleRunner::begin_preparation(std::chrono::nanoseconds time) {
    if (!seen_) return std::nullopt;
    auto roots = std::exchange(seen_at_, {});
    for (std::size_t i = 0; roots.empty() && i < seen_->threads.size(); ++i) {
        const auto thread = static_cast<GuestThreads::Index>(i);
        const auto stack = stack_of(*seen_, thread).value_or(std::vector<GuestAddress>{});
        roots.insert(roots.end(), stack.begin(), stack.end());
    }
    const BurstLevels bursts{.values = seen_->limits.value_instructions != 0,
                             .references = seen_->limits.reference_instructions != 0};
    return Preparation(seen_->replica, std::move(roots), bursts, time);
}

SampleReport SampleRunner::run(SampleJob& job) {
    auto report = emulate(job);
    if (!job.is_burst()) return report;
    note_emulated();
    seen_ = std::move(job);
    return report;
}

// Reads the mappings of a replica, and lets the worker begin. Of bursts that is done.
Result<void> SampleRunner::begin_shadow(SampleJob& job) {
    TRY_ASSIGN(job.maps_text, read_maps_text(job.replica));
    TRY_ASSIGN(job.map, MemoryMap::parse(job.maps_text));
    begun_ = probes_.prepare(*worker_, *job.map);
    if (begun_) begun_ = let_begin(job);
    return {};
}

// The call stack of a thread of the snapshot; nothing if it cannot be known any more.
std::optional<std::vector<GuestAddress>> SampleRunner::stack_of(const SampleJob& job,
                                                                GuestThreads::Index thread) {
    const auto& cpu = job.threads[thread].cpu;
    if (!job.is_burst()) {
        ProcessMemory memory(job.replica);
        return unwinder_.unwind(cpu, *job.map, memory);
    }
    if (!stacks_.has(thread)) return std::nullopt;
    CopiedStack memory(stacks_, thread, *job.map, job.memory_fd);
    auto stack = unwinder_.unwind(cpu, *job.map, memory);
    if (memory.lost()) return std::nullopt;
    return stack;
}

SampleReport SampleRunner::emulate(SampleJob& job) {
    SampleReport report;
    report.is_void = job.is_void;
    report.process = job.process;
    report.weight = job.weight;
    report.kind = job.is_burst() ? SampleKind::burst : SampleKind::shadow;
    report.pid = job.captured.pid;
    const auto cpu_before = thread_cpu_ns();
    if (!job.is_burst() && !begin_shadow(job)) {
        report.end = SampleEnd::replica_lost;
        return report;
    }
    if (!begun_) {
        report.error = begun_.error().message;
        report.replace_worker = true;
        return report;
    }
    report.wiped = is_wiped(job);
    seen_at_.clear();
    const auto view =
        job.process == 0 ? std::nullopt : std::optional(CodeView::of(job.captured.pid));
    MapResolver resolver(*job.map, modules_, view ? &*view : nullptr);
    ProcEnvironment environment(
        std::move(job.captured), job.replica,
        job.is_burst() ? ProcEnvironment::Frozen::process : ProcEnvironment::Frozen::replica);
    environment.use_input(job.input);
    const bool collects = !report.wiped && !job.is_void;
    std::vector<GuestAddress> first_stack;
    const auto begin = [&](GuestThreads::Index thread) {
        if (thread >= job.threads.size()) return true;
        auto stack = stack_of(job, thread);
        if (stack && job.is_burst() && !job.is_void)
            seen_at_.insert(seen_at_.end(), stack->begin(), stack->end());
        if (thread != 0) {
            const std::vector here{job.threads[thread].cpu.rip};
            collector_.begin_thread(thread, stack ? *stack : here);
            return true;
        }
        // The emulator may know code of another process as this one's, where both have the same.
        if (std::exchange(last_process_, job.process) != job.process) collector_.new_emulator();
        if (stack) first_stack = std::move(*stack);
        collector_.begin({.resolver = resolver,
                          .stack = first_stack,
                          .skip_instructions = job.skip_instructions,
                          .weight = job.weight,
                          .bursts = job.bursts ? &*job.bursts : nullptr,
                          .seed = job.seed});
        return !first_stack.empty() && collects;
    };
    Listener listener(*this, environment, job, begin, report);
    // While the worker is under way already: the replica lives for as long as it takes.
    if (!job.is_burst()) listener.begin(0);
    auto outcome = worker_->finish_sample(listener);
    listener.begin(0);
    collector_.end();
    report.blocks = collector_.block_vector();
    listener.conclude();
    report.collector_cpu_ns = thread_cpu_ns() - cpu_before;
    if (!outcome) {
        report.error = outcome.error().message;
        report.replace_worker = true;
        return report;
    }
    report.end = report.wiped ? SampleEnd::replica_lost : outcome->result.end;
    if (!job.is_burst() && report.end == SampleEnd::fault &&
        !job.map->find(outcome->result.fault_address))
        report.missing = outcome->result.fault_address;
    report.stopped_threads = outcome->result.stopped_threads;
    report.single_stepped = outcome->result.single_stepped;
    report.counters = outcome->counters;
    report.syscalls = SyscallReport::parse(outcome->syscall_report);
    if (report.syscalls && report.end == SampleEnd::time) report.syscalls->end_reason.clear();
    // Another worker lies elsewhere.
    const bool misplaced =
        report.end == SampleEnd::no_room && misplaced_workers_++ < most_misplaced_workers;
    report.replace_worker = outcome->worker_exhausted || report.trace_damaged || misplaced;
    return report;
}

}  // namespace shadowprof
