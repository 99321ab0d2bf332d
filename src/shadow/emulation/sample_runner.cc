#include "shadow/emulation/sample_runner.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/quiet_thread.h"
#include "base/urgency.h"

namespace shadowprof {

Result<std::unique_ptr<SampleRunner>> SampleRunner::start(RunnerEvents& events,
                                                          SampleCollector& collector,
                                                          ModuleTable& modules,
                                                          const ProbeRequest* probes) {
    std::unique_ptr<SampleRunner> runner(new SampleRunner(events, collector, modules, probes));
    TRY(runner->emulation_.start_worker());
    runner->thread_ = start_quiet_thread([self = runner.get()] { self->work(); });
    return runner;
}

SampleRunner::~SampleRunner() {
    if (!is_given_up()) give_up();
    if (thread_.joinable()) thread_.join();
}

void SampleRunner::give_up() {
    {
        const std::lock_guard lock(mutex_);
        quit_ = true;
    }
    changed_.notify_all();
    steps_.quit();
    if (emulation_.has_worker()) kill(worker_pid(), SIGKILL);
}

// Functions for the tracing thread.

std::optional<SampleRunner::Lease> SampleRunner::try_lease() {
    const std::lock_guard lock(mutex_);
    leased_ = true;
    return slicing_ ? std::nullopt : std::optional(Lease(*this));
}

void SampleRunner::release() {
    {
        const std::lock_guard lock(mutex_);
        leased_ = false;
    }
    changed_.notify_all();
}

void SampleRunner::prepare(std::chrono::nanoseconds time) {
    {
        const std::lock_guard lock(mutex_);
        preparation_time_ = time;
        leased_ = false;
    }
    changed_.notify_all();
}

void SampleRunner::stop_preparing() {
    const std::lock_guard lock(mutex_);
    leased_ = true;
}

void SampleRunner::begin(SampleSource& source) {
    idle_ = false;
    source_ = &source;
}

void SampleRunner::post(SampleJob job) {
    {
        const std::lock_guard lock(mutex_);
        emulated_ = false;
        job_is_live_ = job.live() != nullptr;
        job_ = std::move(job);
        leased_ = false;
        preparation_time_.reset();
        preparation_.reset();
    }
    changed_.notify_all();
}

bool SampleRunner::wait_until_emulated(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [&] { return emulated_; });
}

SampleReport SampleRunner::take_report() {
    const std::lock_guard lock(mutex_);
    idle_ = true;
    auto report = std::move(report_).value_or(SampleReport{});
    report_.reset();
    return report;
}

PreparationTotals SampleRunner::prepared() {
    const std::lock_guard lock(mutex_);
    return prepared_;
}

SampleRunner& SampleRunner::Lease::begin(SampleSource& source, SampleJob job) && {
    auto& runner = *std::exchange(runner_, nullptr);
    runner.begin(source);
    runner.post(std::move(job));
    return runner;
}

// Does all that can be done without the runner's thread, as waking it up takes time.
SampleRunner::LiveRun SampleRunner::Lease::begin_live(SampleSource& source, SampleJob job) && {
    auto& runner = *std::exchange(runner_, nullptr);
    runner.begin(source);
    runner.emulation_.begin_live(job);
    return {runner, std::move(job)};
}

void SampleRunner::Lease::observe(SampleJob job) {
    runner_->emulation_.observe(job);
    runner_->seen_ = std::move(job);
}

bool SampleRunner::LiveRun::follow() {
    using enum WorkerProcess::Followed;
    was_followed_ = true;
    const auto until = job_->live()->until;
    const auto followed = runner_->emulation_.follow_live(*job_, until);
    if (followed != to_a_question) return followed != to_the_time;
    const Urgency urgent_answer(runner_->thread_id_);
    runner_->post(*std::exchange(job_, std::nullopt));
    return runner_->wait_until_emulated(until);
}

void SampleRunner::LiveRun::end() && {
    auto& runner = *std::exchange(runner_, nullptr);
    if (job_) runner.post(*std::exchange(job_, std::nullopt));
}

void SampleRunner::LiveRun::discard(const std::optional<std::string>& maps_now) && {
    auto& runner = *std::exchange(runner_, nullptr);
    if (!maps_now || has_other_code(job_->maps_text, *maps_now)) runner.emulation_.forget_code();
    std::get<LiveSnapshot>(job_->snapshot).is_void = true;
    runner.post(*std::exchange(job_, std::nullopt));
}

// Functions of the runner's thread.

void SampleRunner::work() {
    thread_id_ = ::gettid();
    std::unique_lock lock(mutex_);
    while (true) {
        const auto may_prepare = [&] { return !leased_ && (preparation_time_ || preparation_); };
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

SampleReport SampleRunner::run(SampleJob& job) {
    auto report = emulation_.run(job, *this);
    if (!job.live()) return report;
    on_emulated();
    seen_ = std::move(job);
    return report;
}

void SampleRunner::on_emulated() {
    {
        const std::lock_guard lock(mutex_);
        emulated_ = true;
        if (!job_is_live_) events_.post({this, RunnerEvent::Kind::emulated});
    }
    changed_.notify_all();
}

std::optional<SampleEnd> SampleRunner::on_step(CpuState& cpu, std::span<const StepPage> pages) {
    return steps_.ask(cpu, pages, [&] { events_.post({this, RunnerEvent::Kind::step}); });
}

bool SampleRunner::is_given_up() {
    const std::lock_guard lock(mutex_);
    return quit_;
}

// Translates ahead for one slice, without the lock.
void SampleRunner::work_ahead(std::unique_lock<std::mutex>& lock) {
    const auto begins = std::exchange(preparation_time_, std::nullopt);
    slicing_ = true;
    lock.unlock();
    if (begins) preparation_ = begin_preparation(*begins);
    auto totals = prepared_;
    const auto more = preparation_ ? emulation_.prepare(*preparation_, totals) : false;
    lock.lock();
    slicing_ = false;
    prepared_ = totals;
    if (!more || !*more) preparation_.reset();
}

std::optional<Preparation> SampleRunner::begin_preparation(std::chrono::nanoseconds time) {
    if (!seen_) return std::nullopt;
    const BurstLevels bursts{.values = seen_->limits.value_instructions != 0,
                             .references = seen_->limits.reference_instructions != 0};
    return Preparation(seen_->pid(), emulation_.take_seen_addresses(*seen_), bursts, time);
}

}  // namespace shadowprof
