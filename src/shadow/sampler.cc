#include "shadow/sampler.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/readable.h"
#include "ptrace/proc.h"
#include "shadow/input/syscall_stop_price.h"

namespace shadowprof {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// How long samples may go on after the target's end, and workers after the last sample.
constexpr milliseconds drain_limit{5000};
// The same when the user wants an end.
constexpr milliseconds hurried_limit{1000};
// Of translating ahead, so much at most after each burst.
constexpr milliseconds preparation_after_burst{10};
constexpr int longest_sleep_ms = 250;
// A target whose system calls are watched may make the next one before the last status is dealt
// with. After so many, it is looked what else there is to do.
constexpr int most_statuses_in_a_row = 64;

void add(std::map<std::string, std::uint64_t>& counters, const WorkerCounters& more) {
    for (const auto& [name, counter] : worker_counters)
        counters[std::string(name)] += more.*counter;
}

// Of a budget. Caches and memory bandwidth that emulation takes from the target are felt by the
// clock alone: 0.1 to 0.3 points of slowdown where 0.9 are measured (docs/benchmarks.md).
constexpr double unmeasured_share = 0.15;

std::optional<Budget> budget_of(const RunOptions& options) {
    if (!options.budget_percent && (options.load || options.burst)) return std::nullopt;
    const auto percent = options.budget_percent.value_or(default_budget_percent);
    return Budget(percent * (1 - unmeasured_share));
}

SampleSchedule::Pace pace_of(const RunOptions& options) {
    SampleSchedule::Pace pace{
        .load = options.load.value_or(default_load), .cost_share = {}, .period = {}};
    if (options.burst) pace.period = options.burst->period;
    if (const auto budget = budget_of(options)) pace.cost_share = budget->share();
    return pace;
}

}  // namespace

Sampler::Sampler(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
                 ProcessProfile& profile, const ProbeRequest* probes)
    : options_(options),
      hub_(hub),
      modules_(modules),
      profile_(profile),
      probes_(probes),
      random_(seed),
      schedule_(pace_of(options), random_()),
      budget_(budget_of(options)),
      burst_limit_(options.burst ? options.burst->longest_stop : default_burst_limit),
      policy_(options.mode),
      settings_(options.bursts),
      costs_(measure_fault_price_ns(hub)) {
    if (options.profiles.latency) latency_.emplace(hub, modules, burst_limit_, probes);
    if (options.until_converged_percent)
        convergence_.emplace(profile, *options.until_converged_percent);
}

Result<std::unique_ptr<Sampler>> Sampler::create(const RunOptions& options, std::uint64_t seed,
                                                 WaitHub& hub, ModuleTable& modules,
                                                 ProcessProfile& profile,
                                                 const ProbeRequest* probes) {
    std::unique_ptr<Sampler> sampler(new Sampler(options, seed, hub, modules, profile, probes));
    TRY_ASSIGN(sampler->events_, RunnerEvents::create());
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sampler->child_signals_.reset(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!sampler->child_signals_) return errno_error("signalfd");
    if (options.record_input) sampler->syscall_stop_price_ns_ = measure_syscall_stop_price_ns(hub);
    TRY(sampler->add_runner());
    return sampler;
}

Sampler::~Sampler() {
    active_.clear();
    latency_.reset();
    for (auto& runner : runners_) {
        const pid_t worker = runner->worker_pid();
        runner.reset();
        hub_.discard(worker);
    }
    const auto limit = Clock::now() + drain_limit;
    while (hub_.discarded() && Clock::now() < limit) {
        hub_.reap_discarded();
        if (hub_.discarded()) poll(nullptr, 0, 1);
    }
}

Result<void> Sampler::add_runner() {
    TRY_ASSIGN(auto runner,
               SampleRunner::start(*events_, profile_.add_collector(), modules_, probes_));
    runners_.push_back(std::move(runner));
    return {};
}

Result<void> Sampler::run(Target& target, const ProgressListener& on_progress,
                          const SamplingEnd& end) {
    begin_ = Clock::now();
    processes_.emplace(hub_, target, begin_);
    schedule_.begin(begin_ + options_.delay);
    if (budget_) budget_->begin(begin_ + options_.delay);
    if (convergence_) convergence_->begin(begin_);
    if (options_.record_input) processes_->watch_syscalls(&recorder_);
    auto result = loop(target, on_progress, end);
    for (auto& runner : runners_) static_cast<void>(runner->try_hold());
    processes_->watch_syscalls(nullptr);
    end_ = Clock::now();
    count_syscall_stops();
    if (give_up_) active_.clear();
    return result;
}

Result<void> Sampler::loop(Target& target, const ProgressListener& on_progress,
                           const SamplingEnd& end) {
    auto next_progress = begin_ + progress_period;
    while (true) {
        const bool has_more = !take_statuses();
        take_runner_events();
        if (target.end()) return {};
        while (auto* process = processes_->find_unsupported()) TRY(dissolve(*process));
        dissolved_ = processes_->is_dissolved();
        const auto now = Clock::now();
        take_commands(now);
        look_for_end(end, now);
        if (give_up_ && (!is_busy() || dissolved_ || now >= *give_up_)) return {};
        if (wants_sample(now)) {
            try_sample();
            continue;
        }
        if (on_progress && now >= next_progress) {
            next_progress = now + progress_period;
            on_progress({std::chrono::duration<double>(now - begin_).count(), stats_.samples,
                         stats_.instructions});
        }
        pollfd waiting[] = {{child_signals_.get(), POLLIN, 0},
                            {events_->fd(), POLLIN, 0},
                            {give_up_ ? -1 : end.request_fd, POLLIN, 0},
                            {control_ ? control_->fd() : -1, POLLIN, 0}};
        poll(waiting, std::size(waiting), has_more ? 0 : sleep_ms(now));
        signalfd_siginfo seen;
        while (read(child_signals_.get(), &seen, sizeof seen) > 0) {
        }
    }
}

int Sampler::sleep_ms(Clock::time_point now) const {
    if (dissolved_ || give_up_ || !settings_.is_on() || !may_take_more(now))
        return longest_sleep_ms;
    const auto left = duration_cast<milliseconds>(next_start() - now).count() + 1;
    return static_cast<int>(std::clamp<long>(left, 1, longest_sleep_ms));
}

// True if these were all.
bool Sampler::take_statuses() {
    bool all = false;
    for (int i = 0; i < most_statuses_in_a_row && !all; ++i) {
        // Statuses that are of no target are of workers, whose end their runners notice.
        const auto event = hub_.poll();
        if (event) processes_->handle(*event);
        all = !event;
    }
    processes_->update(Clock::now());
    return all;
}

// What it executes cannot be sampled.
Result<void> Sampler::dissolve(SampledProcess& process) {
    const auto number = process.number;
    ++refusals_["a process executed a program that is not for x86-64"];
    active_.remove_if([&](const auto& sample) { return sample.process == number; });
    auto detached = processes_->let_go(process, Clock::now());
    if (number == 0) return detached;
    return {};
}

Result<void> Sampler::detach(Target::Sleepers sleepers) {
    detached_ = true;
    active_.remove_if([](const auto& sample) { return sample.process != 0; });
    return processes_->let_all_go(sleepers, Clock::now());
}

void Sampler::take_runner_events() {
    while (const auto event = events_->take()) {
        switch (event->kind) {
            case RunnerEvent::Kind::emulated:
                release(*event->runner);
                break;
            case RunnerEvent::Kind::step:
                on_step(*event->runner);
                break;
            case RunnerEvent::Kind::finished:
                on_finished(*event->runner);
                break;
        }
    }
}

std::list<Sampler::ActiveSample>::iterator Sampler::find_active(const SampleRunner& runner) {
    return std::find_if(active_.begin(), active_.end(),
                        [&](const auto& sample) { return sample.runner == &runner; });
}

// The replica dies as soon as nobody reads it: until then the target pays for what it writes.
void Sampler::release(SampleRunner& runner) {
    const auto it = find_active(runner);
    if (it == active_.end()) return;
    const auto lifetime = Clock::now() - it->start;
    schedule_.on_end(lifetime);
    stats_.counters["replica_lifetime_ns"] += to_ns(lifetime);
    active_.erase(it);
}

void Sampler::on_step(SampleRunner& runner) {
    auto cpu = runner.step().cpu;
    const auto it = find_active(runner);
    if (it == active_.end()) return runner.answer_step(cpu, SampleEnd::replica_lost);
    auto& replica = it->replica;
    for (const auto& page : runner.step().pages)
        if (!replica.write(page.address, page.bytes))
            return runner.answer_step(cpu, SampleEnd::replica_lost);
    const auto stepped = replica.single_step(cpu);
    if (!stepped) return runner.answer_step(cpu, SampleEnd::replica_lost);
    switch (stepped->end) {
        case StepEnd::done:
            return runner.answer_step(cpu, std::nullopt);
        case StepEnd::syscall:
            return runner.answer_step(cpu, SampleEnd::unsafe_syscall);
        case StepEnd::fault:
            return runner.answer_step(cpu, SampleEnd::fault);
    }
}

void Sampler::on_finished(SampleRunner& runner) {
    release(runner);
    const auto report = runner.take_report();
    if (report.is_void) return after_sample(runner, report);
    if (report.kind == SampleKind::burst)
        bursts_.add_emulation(report.counters.emulation_ns, report.counters.translation_ns);
    const auto weighted = report.instructions * report.weight;
    scale_.instructions += report.instructions;
    scale_.weighted += weighted;
    processes_->log().finish_sample(report.process, weighted);
    if (auto* process = processes_->find(report.process))
        process->kinds.on_yield(report.kind, report.instructions);
    ++stats_.samples;
    stats_.instructions += report.instructions;
    phase_detector_.on_sample(report.blocks);
    if (convergence_) convergence_->look(stats_.samples, Clock::now());
    stats_.single_stepped += report.single_stepped;
    stats_.emulation_seconds +=
        static_cast<double>(report.counters.cpu_ns + report.collector_cpu_ns) / 1e9;
    stats_.counters["stopped_threads"] += report.stopped_threads;
    stats_.counters["collector_cpu_ns"] += report.collector_cpu_ns;
    ++stats_.ended[std::string(name(report.end))];
    add(stats_.counters, report.counters);
    look_for_unforked(report);
    damaged_ += report.trace_damaged;
    threads_.add(report.pid, report.threads, report.weight);
    if (report.syscalls) {
        add_counts(report.syscalls->counts, syscalls_);
        const bool ended_it = report.end != SampleEnd::size && !report.syscalls->end_reason.empty();
        if (ended_it) ++end_reasons_[report.syscalls->end_reason];
    }
    if (!report.error.empty()) ++end_reasons_["worker lost: " + report.error];
    after_sample(runner, report);
}

// What the worker needs before the next one.
void Sampler::after_sample(SampleRunner& runner, const SampleReport& report) {
    if (report.replace_worker) {
        hub_.discard(runner.worker_pid());
        const auto replaced = runner.replace_worker();
        if (!replaced) note_refusal(replaced.error());
    } else if (report.kind == SampleKind::burst && !report.is_void && !give_up_) {
        runner.prepare(preparation_after_burst);
    }
}

bool Sampler::may_take_more(Clock::time_point now) const {
    if (settings_.is_stopped()) return false;
    if (options_.duration && now >= begin_ + options_.delay + *options_.duration) return false;
    if (convergence_ && convergence_->is_converged()) return false;
    return !options_.max_samples || started_ < *options_.max_samples;
}

bool Sampler::wants_sample(Clock::time_point now) const {
    return !dissolved_ && !give_up_ && settings_.is_on() && now >= next_start() &&
           may_take_more(now);
}

void Sampler::take_commands(Clock::time_point now) {
    if (!control_) return;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    for (const auto& command : control_->take()) settings_.apply(command, seconds, started_);
}

void Sampler::look_for_end(const SamplingEnd& end, Clock::time_point now) {
    const auto by = [this](Clock::time_point limit) {
        give_up_ = std::min(give_up_.value_or(limit), limit);
    };
    if (is_readable(end.request_fd)) by(now + hurried_limit);
    if (end.with_last_sample && (dissolved_ || !may_take_more(now))) by(now + drain_limit);
}

bool Sampler::is_busy() const {
    return std::any_of(runners_.begin(), runners_.end(),
                       [](const auto& runner) { return !runner->is_idle(); });
}

SampleRunner* Sampler::idle_runner() {
    for (auto& runner : runners_)
        if (runner->is_idle()) return runner.get();
    // Bursts are short, and what is translated is in one worker.
    const bool one_will_do = options_.mode == SamplingMode::burst;
    if (runners_.size() >= (one_will_do ? 1 : schedule_.max_active())) return nullptr;
    if (const auto added = add_runner(); !added) {
        note_refusal(added.error());
        return nullptr;
    }
    return runners_.back().get();
}

void Sampler::note_refusal(const Error& error) {
    if (error.code != ErrorCode::gone) ++refusals_[error.message];
}

void Sampler::count_syscall_stops() {
    const auto totals = recorder_.totals();
    const auto stops = static_cast<double>(totals.stops - recorder_counted_.stops);
    const auto cost_ns = static_cast<std::uint64_t>(stops * syscall_stop_price_ns_) +
                         totals.handling_ns - recorder_counted_.handling_ns;
    recorder_counted_ = totals;
    costs_.add_syscall_stops(cost_ns);
}

void Sampler::finish() {
    const auto limit = Clock::now() + drain_limit;
    while (is_busy() && Clock::now() < limit) {
        pollfd waiting = {events_->fd(), POLLIN, 0};
        poll(&waiting, 1, 10);
        if (!detached_) take_statuses();
        take_runner_events();
    }
    active_.clear();
}

void Sampler::fill(Profile& profile) const {
    const auto seconds = std::chrono::duration<double>(end_ - begin_).count();
    const auto own = profile.sampling.counters;
    profile.sampling = stats_;
    profile.sampling.counters.insert(own.begin(), own.end());
    profile.sampling.counters["phase_changes"] = phase_detector_.changes();
    if (convergence_) profile.sampling.convergence = convergence_->result();
    policy_.fill(profile);
    if (policy_.has_bursts()) {
        bursts_.fill(profile.sampling.counters);
        auto& counters = profile.sampling.counters;
        for (const auto& runner : runners_) {
            const auto prepared = runner->prepared();
            counters["prepared_instructions"] += prepared.instructions;
            counters["prepare_ns"] += prepared.nanoseconds;
        }
    }
    settings_.fill(profile.sampling);
    if (latency_) latency_->fill(profile);
    if (options_.record_input) {
        const auto& recorded = recorder_.totals();
        profile.sampling.counters["input_stops"] = recorded.stops;
        profile.sampling.counters["input_stops_ns"] = costs_.syscall_stops_ns();
        profile.sampling.counters["input_calls"] = recorded.calls;
        profile.sampling.counters["input_bytes"] = recorded.bytes;
    }
    profile.syscalls = syscalls_;
    costs_.fill(profile.overhead,
                std::max(seconds, processes_ ? processes_->process_seconds() : 0.0));
    profile.overhead.budget_percent =
        budget_ ? options_.budget_percent.value_or(default_budget_percent) : 0;
    profile.threads = threads_.profiles(scale_);
    profile.run.seconds = seconds;
    if (processes_) processes_->fill(profile, end_);
    for (auto& process : profile.processes) process.instructions = scale_(process.instructions);
    profile.other_processes.instructions = scale_(profile.other_processes.instructions);
    if (stats_.samples != 0 && started_ == 0)
        profile.notes.emplace_back(
            "no samples could be taken: whenever one was due, the process did not run");
    for (const auto& [reason, times] : end_reasons_)
        profile.notes.push_back(fmt::format("{} samples ended by {}", times, reason));
    for (const auto& [reason, times] : refusals_)
        profile.notes.push_back(fmt::format("{} samples were not taken: {}", times, reason));
    if (damaged_) profile.notes.push_back(fmt::format("{} samples had a damaged trace", damaged_));
}

}  // namespace shadowprof
