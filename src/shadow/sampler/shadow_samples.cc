#include "shadow/sampler/shadow_samples.h"

#include <algorithm>

#include "ptrace/proc/proc.h"
#include "shadow/program/sample_threads.h"
#include "shadow/sampler/source_choice.h"

namespace shadowprof {
namespace {

// To reach the end of a window, at most this many times a sample's usual size is emulated. The
// replica lives until then, and the emulation takes a processor that the program may want.
constexpr double max_sizes = 8;
// The same limit for code that turns out to be faster than it was before.
constexpr std::uint64_t max_sizes_in_all = 300;
// A replica is not kept for longer because its code is slower than this.
constexpr double slowest_speed = 1e9;
// This many samples in a row may come to nothing because their windows were lost.
constexpr unsigned max_lost = 3;
// An observation is always a little late.
constexpr std::chrono::milliseconds usual_delay{2};

// The limits are the same for all code, as which windows are lost must not depend on its speed.
WindowLimits window_limits(const RunOptions& options, const CodeSpeeds& speeds,
                           std::chrono::nanoseconds length) {
    const auto speed = std::max(speeds.instructions_per_second(), slowest_speed);
    const std::chrono::duration<double> longest(max_sizes *
                                                static_cast<double>(options.sample_size) / speed);
    return {
        .length = length,
        .longest = std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(longest),
                            length + usual_delay),
        .max_instructions_per_second = speeds.max_instructions_per_second(),
        .max_instructions = max_sizes_in_all * options.sample_size,
    };
}

}  // namespace

ShadowSamples::ShadowSamples(const RunOptions& options, SampleDesign& design, SamplingCosts& costs,
                             SampleResults& results, SampleSchedule& schedule, ShadowPolicy& policy,
                             InputRecorder& recorder, LiveSamples& live)
    : options_(options),
      design_(design),
      costs_(costs),
      results_(results),
      schedule_(schedule),
      policy_(policy),
      recorder_(recorder),
      live_(live) {}

Result<SampleSource::Plan> ShadowSamples::plan(SampledProcess& process, SampleOrder order) {
    TRY_ASSIGN(const bool forks,
               policy_.wants_shadow(*process.target, process.fork_history, active_.size()));
    if (!forks) return live_.plan(process, std::move(order));
    return SampleInSteps::plan(process, std::move(order));
}

// Called before the stop.

Result<ShadowSamples::Planned> ShadowSamples::plan_steps(SampledProcess& process,
                                                         SampleOrder order) {
    if (process.unforked.is_needed() && !process.unforked.read(process.target->pid()))
        return Planned(SampleTaken{.kind = SampleTaken::Kind::later});
    if (!process.target->companion()) process.target->prepare_borrowing();
    ShadowPlan plan{std::move(order.runner), design_.job(process, SampleKind::shadow, order.share)};
    if (records_input(options_, costs_, process))
        plan.max_input_stops = costs_.max_input_stops(process);
    return Planned(std::move(plan));
}

// Makes the stop.

ShadowShot ShadowSamples::take(SampledProcess& process, ShadowPlan plan) {
    ShadowShot shot{.runner = std::move(plan.runner), .job = std::move(plan.job)};
    auto taken = fork_in_stop(process, shot, plan.max_input_stops);
    if (!taken) shot.refusal = std::move(taken).error();
    return shot;
}

Result<void> ShadowSamples::fork_in_stop(SampledProcess& process, ShadowShot& shot,
                                         std::optional<std::uint64_t> max_input_stops) {
    Target& target = *process.target;
    auto& job = shot.job;
    const RunsBeforeStop before(target);
    shot.later = waits_for_us(process, before);
    if (shot.later) return {};
    TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::leave_rarely_woken));
    shot.was_stopped = true;
    if (!stop.in_group_stop())
        job.threads = choose_threads(stop, options_.threads, design_.random(), before);
    shot.later = (process.unforked.is_needed() && !process.unforked.check(target)) ||
                 !process.vdso.leave_out(target, job.threads);
    if (job.threads.empty() || shot.later) return {};
    using Flags = CapturedProcess::Flags;
    const auto tids = tids_of(job.threads);
    TRY_ASSIGN(job.captured,
               CapturedProcess::take(
                   target.pid(), tids,
                   max_input_stops ? Flags::of_all : Flags::of_files_and_standard_streams));
    design_.expect(job, process);
    const bool seeks_elsewhere = seeks_speed(options_, costs_, process) &&
                                 !process.speeds.wants_window(job.threads[0].cpu.rip);
    if (!seeks_elsewhere) TRY(try_fork(stop, process, shot));
    if (!shot.replica)
        shot.live.emplace(live_.take_in(stop, process, std::move(*shot.runner), std::move(job)));
    else if (max_input_stops)
        shot.input.emplace(recorder_.record(tids, *max_input_stops));
    if (shot.replica) watch_window(process, shot);
    return {};
}

void ShadowSamples::watch_window(SampledProcess& process, ShadowShot& shot) {
    const auto& threads = shot.job.threads;
    if (!options_.sample_time || !process.speeds.may_have_window()) return;
    const auto length = std::max(costs_.window_length(process), process.storms.min_window());
    auto limits = window_limits(options_, process.speeds, length);
    limits.has_other_threads = process.target->thread_count() > 1;
    auto watch =
        WindowWatch::begin(process.target->pid(), threads[0].tid, threads[0].cpu, limits,
                           process.fault_price.seconds(costs_.fault_seconds()),
                           without_other_stacks(pages_of(shot.replica->pid()), threads), room_);
    if (!watch) return;
    process.speeds.note_trial(threads[0].cpu.rip);
    shot.window.emplace(*std::move(watch));
}

// Leaves `shot` without a replica if a live sample should take its place.
Result<void> ShadowSamples::try_fork(ScopedStop& stop, SampledProcess& process, ShadowShot& shot) {
    const auto start = Clock::now();
    auto forked = Replica::fork(stop, process.unforked.ranges());
    if (!forked) {
        if (policy_.may_be_live_instead(forked.error(), process.fork_history)) return {};
        return std::move(forked).error();
    }
    shot.replica.emplace(*std::move(forked));
    policy_.count_shadow();
    costs_.add_fork(Clock::now() - start);
    return {};
}

// Called after the stop.

Result<SampleTaken> ShadowSamples::settle(SampledProcess& process, ShadowShot shot) {
    if (shot.was_stopped) costs_.add_pause(process.target->last_pause());
    if (shot.refusal) return *std::move(shot.refusal);
    if (shot.later) return SampleTaken{.kind = SampleTaken::Kind::later};
    if (shot.live) return live_.finish(process, *std::move(shot.live));
    if (!shot.replica) return SampleTaken{.kind = SampleTaken::Kind::idle};
    shot.replica->offer_to_oom_killer();
    costs_.on_sample(process, SampleKind::shadow, process.target->last_pause());
    live_.skip_first_observation();
    begin(process, std::move(shot));
    return SampleTaken{};
}

void ShadowSamples::begin(SampledProcess& process, ShadowShot shot) {
    auto job = std::move(shot.job);
    job.snapshot = ReplicaSnapshot{.pid = shot.replica->pid(),
                                   .memory_fd = shot.replica->memory_fd(),
                                   .is_whole = process.unforked.is_needed(),
                                   .input = shot.input ? shot.input->recording() : nullptr};
    job.limits = design_.limits(job.skip_instructions + options_.sample_size, *process.target);
    active_.push_back(
        {nullptr, *std::move(shot.replica), Clock::now(), process.number, std::move(shot.input)});
    if (shot.window)
        open_.emplace(Open{*std::move(shot.runner), std::move(job), *std::move(shot.window),
                           std::prev(active_.end())});
    else
        active_.back().runner = &std::move(*shot.runner).begin(*this, std::move(job));
}

// A time while a window is open.

std::optional<ShadowSamples::Clock::time_point> ShadowSamples::next_observation() const {
    return open_ ? std::optional(open_->window.next_observation()) : std::nullopt;
}

void ShadowSamples::observe(Clock::time_point now, const FindProcess& find) {
    auto* process = find(open_->active->process);
    if (!process) return close(nullptr);
    const auto observed = open_->window.observe(*process->target, now);
    if (observed.pause) costs_.add_pause(*observed.pause);
    if (!observed.goes_on) close(process);
}

void ShadowSamples::stop_observing() {
    if (open_) close(nullptr);
}

// Begins the emulation, with a window or without. `process` is null if it has ended, or if sampling
// ends.
void ShadowSamples::close(SampledProcess* process) {
    auto open = std::move(*open_);
    open_.reset();
    // Whether the first thread counts alone must not depend on what it does in the window.
    const bool has_company = open.job.threads.size() > 1;
    if (has_company) open.job.lead_with_first();
    open.job.needs_window = has_company && process && process->speeds.misses_often();
    open.job.window = open.window.take();
    const bool is_late = open.window.is_lost();
    lost_ = is_late ? lost_ + 1 : 0;
    const bool is_missed = has_company && process && !open.job.window && !is_late;
    if (open.job.window) {
        open.job.skip_instructions = 0;
        open.job.limits.instructions = open.job.window->max_instructions;
    } else if ((lost_ != 0 && lost_ <= max_lost) || (is_missed && open.job.needs_window)) {
        open.job.lost_window = true;
        open.job.limits.instructions = 1;
        schedule_.on_loss(open.job.scheduled_seconds);
    }
    if (is_missed) process->speeds.add_missed();
    open.active->runner = &std::move(open.runner).begin(*this, std::move(open.job));
}

// Returns active_.end() if the runner's sample has no replica any more.

std::list<ShadowSamples::Active>::iterator ShadowSamples::find(const SampleRunner& runner) {
    return std::ranges::find_if(active_,
                                [&](const Active& sample) { return sample.runner == &runner; });
}

void ShadowSamples::on_step(SampleRunner& runner) {
    auto cpu = runner.step().cpu;
    const auto sample = find(runner);
    const auto end =
        sample == active_.end() ? SampleEnd::replica_lost : step(*sample, runner.step(), cpu);
    runner.answer_step(cpu, end);
}

std::optional<SampleEnd> ShadowSamples::step(Active& sample, const StepExchange::Step& step,
                                             CpuState& cpu) {
    for (const auto& page : step.pages)
        if (!sample.replica.write(page.address, page.bytes)) return SampleEnd::replica_lost;
    const auto stepped = sample.replica.single_step(cpu);
    if (!stepped) return SampleEnd::replica_lost;
    switch (stepped->end) {
        case StepEnd::done:
            return std::nullopt;
        case StepEnd::syscall:
            return SampleEnd::unsafe_syscall;
        case StepEnd::fault:
            return SampleEnd::fault;
    }
    return SampleEnd::replica_lost;
}

// Ends the replica when nobody reads it any more, as until then the target pays for what it writes.
void ShadowSamples::on_emulated(SampleRunner& runner, const FindProcess& find_process) {
    const auto sample = find(runner);
    if (sample != active_.end()) end_replica(sample, find_process(sample->process));
}

// `process` is null if it has ended.
void ShadowSamples::end_replica(std::list<Active>::iterator sample, SampledProcess* process) {
    const auto lifetime = Clock::now() - sample->start;
    schedule_.on_end(lifetime);
    results_.add_replica_lifetime(lifetime);
    if (process && sample->input) process->note_input_need(sample->input->recording()->has_input());
    active_.erase(sample);
    if (!process) return;
    if (const auto stat = read_proc_stat(process->target->pid()))
        process->faults.on_replica_end(Clock::now(), stat->minor_faults);
}

std::chrono::nanoseconds ShadowSamples::on_finished(SampleRunner& runner,
                                                    const SampleReport& report,
                                                    SampledProcess* process) {
    if (const auto sample = find(runner); sample != active_.end()) end_replica(sample, process);
    if (process) process->unforked.note(report, process->target->pid());
    if (process && report.window == WindowEnd::met) note_window(*process, report);
    if (process && report.window == WindowEnd::missed) process->speeds.add_missed();
    const bool was_not_found = report.window != WindowEnd::none && report.end == SampleEnd::size;
    if (report.is_void && was_not_found) schedule_.on_loss(report.scheduled_seconds);
    return {};
}

void ShadowSamples::note_window(SampledProcess& process, const SampleReport& report) {
    const auto& window = *report.of_window;
    if (report.instructions == 0) return;
    process.fault_price.add({window.passed_seconds, window.faults, report.instructions});
    process.storms.observe(window.faults * process.fault_price.seconds(costs_.fault_seconds()));
    if (window.seconds) process.speeds.add(report.began_at, report.instructions, *window.seconds);
}

void ShadowSamples::drop_if(const std::function<bool(std::uint64_t process)>& condition) {
    if (open_ && condition(open_->active->process)) open_.reset();
    active_.remove_if([&](const Active& sample) { return condition(sample.process); });
}

}  // namespace shadowprof
