// The steps of one sample in the sampler, from the moment at which it is due to its report.
#include <sched.h>

#include <algorithm>

#include "shadow/sampler/sampler.h"

namespace shadowprof {
namespace {

// Costs are looked at when a sample is due, and at least this often.
constexpr std::chrono::seconds longest_wait_for_budget{1};
// How long before its moment a sample is planned. That is longer than planning takes, so that the
// process and those that it works with have their processors back for a while.
constexpr std::chrono::milliseconds planned_ahead{2};
// How long to wait until something that failed is tried again.
constexpr std::chrono::milliseconds a_moment{1};

}  // namespace

bool Sampler::may_take_more(Clock::time_point now) const {
    if (settings_.is_stopped()) return false;
    if (options_.duration && now >= begin_ + options_.delay + *options_.duration) return false;
    return !options_.max_samples || taken_ < *options_.max_samples;
}

bool Sampler::may_sample(Clock::time_point now) const {
    return !nothing_to_sample_ && !give_up_ && settings_.is_on() && !looking() &&
           may_take_more(now);
}

// Planning takes some hundred microseconds of a processor. Whoever wants that processor has it back
// by the moment of the stop, so that the process is met as it runs without us. Of several processes
// one is chosen at the moment itself, as those that run for short times would otherwise be chosen
// too seldom.
bool Sampler::plans_ahead() const {
    return processes_->candidates() == 1 || waiting_processor_of_several_.is_its_processor();
}

// When there is something to do for the next sample.
Sampler::Clock::time_point Sampler::next_step() const {
    if (next_) return next_start();
    return std::max(plans_ahead() ? next_start() - planned_ahead : next_start(), plan_not_before_);
}

// Returns false if nothing is due.
bool Sampler::plan_or_take(Clock::time_point now) {
    if (!may_sample(now)) {
        drop_plan();
        return false;
    }
    if (now < next_step()) return false;
    if (!next_) {
        plan_or_visit(now);
        return true;
    }
    auto next = std::move(*next_);
    next_.reset();
    const bool visited = visit_.has_value();
    take(std::move(next), now);
    if (visited && !next_) end_visit();
    return true;
}

void Sampler::drop_plan() {
    next_.reset();
    if (visit_) end_visit();
}

// Returns false if it is not known where the process runs, or if we may not go there.
bool Sampler::visit_processor_of(const SampledProcess& process) {
    if (visit_) return true;
    look_visit_.reset();
    own_processors_.avoid({}, runners_->worker_pids());
    visit_.emplace(own_processors_, processor_of(process.target->pid()));
    if (!visit_->has_moved()) visit_.reset();
    return visit_.has_value();
}

// Also moves threads and workers that were born on the processor of the visit.
void Sampler::end_visit() {
    visit_.reset();
    own_processors_.go_back(runners_->worker_pids());
}

// Of several processes, the one that would run where we wait is planned when the moment has come,
// as it stands still then.
void Sampler::plan_or_visit(Clock::time_point now) {
    auto* any = now < next_start() && processes_->candidates() > 1
                    ? processes_->choose_any(design_.random())
                    : nullptr;
    if (!any) return try_plan(now);
    if (visit_processor_of(*any))
        next_.emplace(NextSample{});
    else
        plan_not_before_ = next_start();
}

// 1. A runner must be free.
void Sampler::try_plan(Clock::time_point now) {
    auto leased = runners_->lease();
    if (auto* lease = std::get_if<SampleRunner::Lease>(&leased))
        return plan(std::move(*lease), now);
    const auto& busy = std::get<RunnerPool::Busy>(leased);
    if (busy.refusal) results_.add_refusal(*busy.refusal);
    plan_not_before_ = now + a_moment;
    if (now < next_start()) return;
    busy.for_a_moment ? schedule_.soon(now) : schedule_.on_miss(now);
}

// 2. A process is chosen among those that run, and is charged for its last sample.
void Sampler::plan(SampleRunner::Lease runner, Clock::time_point now) {
    const auto taken = visit_ ? std::optional(sched_getcpu()) : std::nullopt;
    auto* process = processes_->choose(design_.random(), now, taken);
    const bool sleeps = process && !process->target->is_let_go() && process->sleeps_on();
    costs_.pass(now, static_cast<double>(processes_->running()));
    if (!process) {
        waiting_processor_of_several_.on_asleep();
        results_.add_idle();
        return schedule_next(nullptr);
    }
    const bool was_let_go = process->target->is_let_go();
    if (was_let_go && !follow_again(*process, now)) return;
    take_syscall_stops();
    if (options_.sample_time) process->kinds.begin_with_windows();
    costs_.settle(*process, now, runners_->cpu_ns(), runners_->is_busy());
    if (sleeps)
        wait_for_moment(*process,
                        {.process = process->number, .exec_count = process->target->exec_count()});
    else
        plan(*process, std::move(runner), now, was_let_go);
}

// A process that was let go because of its stops is followed for a sample when it may lose some
// more, and the sample is within the budget. If it is the only one, its next sample stands for the
// time until then, too. Returns false if it is not followed.
bool Sampler::follow_again(SampledProcess& process, Clock::time_point now) {
    if (process.target->is_asleep()) {
        on_idle(process);
        return false;
    }
    const auto moment = std::max(now, next_start());
    const auto too_dear_until = costs_.too_dear_until(choice_.expected_cost_seconds(process), now);
    const auto from = std::max(process.stops.may_follow_from(costs_.share_for_event_stops()),
                               too_dear_until.value_or(now));
    if (from > moment && processes_->candidates() > 1) {
        schedule_next(nullptr);
        return false;
    }
    if (from > moment) {
        schedule_.postpone(moment, std::min(from, moment + longest_wait_for_budget));
        return false;
    }
    if (follow(process)) return true;
    schedule_.on_refusal(now);
    return false;
}

// `is_paid`: the sample is known to be within the budget.
void Sampler::plan(SampledProcess& process, SampleRunner::Lease runner, Clock::time_point now,
                   bool is_paid) {
    // 3. A kind of sample is chosen, which may be too expensive now.
    SampleSource& source = choice_.next(process);
    const auto moment = std::max(now, next_start());
    const auto until = costs_.too_dear_until(source.expected_cost_seconds(process), now);
    if (until && *until > moment && !is_paid)
        return schedule_.postpone(moment, std::min(*until, moment + longest_wait_for_budget));

    // 4. The sample is planned.
    keep_off_processors_of(process);
    NextSample next{
        .source = &source, .process = process.number, .exec_count = process.target->exec_count()};
    const auto cost_before = costs_.total_seconds();
    const SampleShare share{schedule_.weight(), processes_->running()};
    auto planned = source.plan(process, {std::move(runner), share});
    next.cost_seconds = costs_.total_seconds() - cost_before;
    if (!planned) return on_tried(process, next, std::move(planned).error());
    if (const auto* missed = std::get_if<SampleTaken>(&*planned))
        return on_tried(process, next, *missed);
    next.planned = std::move(std::get<std::unique_ptr<PlannedSample>>(*planned));
    wait_for_moment(process, std::move(next));
}

void Sampler::wait_for_moment(SampledProcess& process, NextSample next) {
    next_.emplace(std::move(next));
    if (process.waiting_processor.is_its_processor()) visit_processor_of(process);
}

// 5. The sample's moment has come: see SampleInSteps. A process that sleeps is left alone if it is
// known that it would not run without us, or seldom runs.
void Sampler::take(NextSample next, Clock::time_point now) {
    if (!next.process) return try_plan(now);
    auto* process = processes_->find(*next.process);
    if (!process || process->target->exec_count() != next.exec_count) return schedule_.soon(now);
    const bool sleeps = visit_ ? process->target->is_asleep() : process->sleeps_on();
    if (sleeps) return on_idle(*process);
    // The process slept before, and was woken up in time.
    if (!next.planned) return try_plan(now);
    // We stay on the processor until we sleep. Then the process is given it, and stops.
    visit_.reset();
    const auto cost_before = costs_.total_seconds();
    const auto taken = next.planned->take(*process);
    next.cost_seconds += costs_.total_seconds() - cost_before;
    next.planned.reset();
    on_tried(*process, next, taken);
}

void Sampler::on_idle(SampledProcess& process) {
    const auto number = process.number;
    note(process, {.kind = SampleTaken::Kind::idle});
    schedule_next(processes_->find(number));
}

void Sampler::on_tried(SampledProcess& process, const NextSample& next,
                       const Result<SampleTaken>& taken) {
    choice_.on_tried(*next.source, next.cost_seconds);
    // Without a budget nothing else keeps such samples apart.
    if (process.was_let_go && !costs_.share()) process.stops.spend(next.cost_seconds);
    if (!taken) {
        results_.add_refusal(taken.error());
        return schedule_.on_refusal(Clock::now());
    }
    if (taken->kind == SampleTaken::Kind::later) {
        if (taken->is_discarded) processes_->log().begin_sample(process.number);
        not_before_ = taken->not_before;
        plan_not_before_ = Clock::now() + a_moment;
        return schedule_.soon(Clock::now());
    }
    choice_.on_done(*next.source);
    note(process, *taken);

    // 6. The next one is scheduled.
    schedule_next(processes_->find(process.number));
}

void Sampler::note(SampledProcess& process, const SampleTaken& taken) {
    switch (taken.kind) {
        case SampleTaken::Kind::begun:
            processes_->log().begin_sample(process.number);
            process.idle_in_a_row = 0;
            process.waiting_processor.on_awake();
            waiting_processor_of_several_.on_awake();
            taken_ += taken.counts;
            break;
        case SampleTaken::Kind::over:
            taken_ += taken.counts;
            break;
        case SampleTaken::Kind::idle:
            ++process.idle_in_a_row;
            process.waiting_processor.on_asleep();
            if (processes_->candidates() > 1) waiting_processor_of_several_.on_asleep();
            results_.add_idle();
            break;
        case SampleTaken::Kind::later:
            break;
    }
}

// The source that wants to look at the process of its last sample again.
SampleSource* Sampler::looking() const {
    const auto it = std::ranges::find_if(
        sources_, [](const auto* source) { return source->next_observation().has_value(); });
    return it == sources_.end() ? nullptr : *it;
}

// 7. If the sample has a window, the process is looked at again until the window is known. Returns
// false if no observation is due.
bool Sampler::observe(Clock::time_point now) {
    auto* source = looking();
    if (!source || now < *source->next_observation()) return false;
    source->observe(now, finder());
    return true;
}

void Sampler::stop_observing() {
    for (auto* source : sources_) source->stop_observing();
}

SampleSource::FindProcess Sampler::finder() {
    return [this](std::uint64_t number) { return processes_->find(number); };
}

// If several processes run, or all processors are busy, there is hardly a processor to keep off.
void Sampler::keep_off_processors_of(const SampledProcess& process) {
    if (visit_) return;
    const auto workers = runners_->worker_pids();
    if (processes_->running() <= 1 && !process.waiting_processor.is_its_processor())
        own_processors_.keep_off(process.target->pid(), workers);
    else
        own_processors_.avoid({}, workers);
}

// `process` is null if it has ended, or if nothing ran.
void Sampler::schedule_next(const SampledProcess* process) {
    const auto now = Clock::now();
    SampleSchedule::Outlook outlook{.stretch = processes_->pace()};
    bool ahead = false;
    // What a budget saves in stretches that are all alike is spent on those that are not.
    const auto density = costs_.share() ? results_.density() : 1;
    outlook.stretch *= results_.stretch() / density;
    if (process) {
        outlook.follows_load = choice_.sample_source(*process).follows_load();
        outlook.cost_seconds = choice_.expected_cost_seconds(*process);
        ahead = density >= 1 && !results_.is_converged() &&
                costs_.has_much_room(outlook.cost_seconds, now);
    }
    schedule_.on_sample(now, outlook, ahead);
}

// Whether it is known how fast the program was, by which samples by time are weighted. A window
// tells that for its own sample, and for others in the same code.
bool Sampler::is_timed(const SampledProcess& process, const SampleReport& report) const {
    return !options_.sample_time || (report.of_window && report.of_window->seconds) ||
           (report.kind == SampleKind::live && process.speeds.knows(report.began_at));
}

// 8. The emulation goes on in the runner's thread, which tells when the replica is no longer
// needed, when an instruction must be stepped, and when the sample has finished.
void Sampler::take_runner_events() {
    while (const auto event = runners_->take_event()) {
        auto& runner = *event->runner;
        switch (event->kind) {
            case RunnerEvent::Kind::emulated:
                runner.source()->on_emulated(runner, finder());
                break;
            case RunnerEvent::Kind::step:
                runner.source()->on_step(runner);
                break;
            case RunnerEvent::Kind::finished:
                on_finished(runner);
                break;
        }
    }
}

void Sampler::on_counted(SampledProcess& process, const SampleReport& report) {
    process.kinds.on_yield(report.kind, report.instructions, is_timed(process, report));
    process.kinds.on_blocks(report.kind, report.blocks, report.instructions);
    if (!report.has_recorded_input && InputNeed::tells(report.end))
        process.note_input_need(report.end == SampleEnd::input);
}

// 9. The collector has what the sample has seen. The report is added to the results.
void Sampler::on_finished(SampleRunner& runner) {
    const auto report = runner.take_report();
    auto* process = processes_->find(report.process);
    if (process) costs_.on_finished(*process, Clock::now(), runners_->cpu_ns());
    const auto ahead = runner.source()->on_finished(runner, report, process);
    if (ahead.count() != 0 && !give_up_ && !report.replace_worker) runner.prepare(ahead);
    if (!report.is_void) {
        processes_->log().finish_sample(report.process, report.instructions * report.weight);
        if (process) on_counted(*process, report);
        results_.add(report);
    } else {
        // The next sample stands for the time of this one, too.
        drop_plan();
        processes_->log().cancel_sample(report.process);
        results_.add_void(report);
        if (process) process->kinds.on_lost(report.kind);
        taken_ -= report.kind == SampleKind::shadow;
        // Another sample may take its place. If something else ends sampling, it does so again.
        if (may_take_more(Clock::now())) give_up_.reset();
    }
    if (!report.replace_worker) return;
    drop_plan();
    if (const auto replaced = runners_->replace_worker(runner); !replaced)
        results_.add_refusal(replaced.error());
}

}  // namespace shadowprof
