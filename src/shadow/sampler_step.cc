// One sample as the sampler sees it, from the moment at which it is due to its report.
#include <algorithm>

#include "shadow/sampler.h"

namespace shadowprof {
namespace {

// Costs are looked at when a sample is asked for. They are to be known at least this often.
constexpr std::chrono::seconds longest_wait_for_budget{1};

}  // namespace

bool Sampler::may_take_more(Clock::time_point now) const {
    if (settings_.is_stopped()) return false;
    if (options_.duration && now >= begin_ + options_.delay + *options_.duration) return false;
    return !options_.max_samples || taken_ < *options_.max_samples;
}

bool Sampler::wants_sample(Clock::time_point now) const {
    return !nothing_to_sample_ && !give_up_ && settings_.is_on() && now >= next_start() &&
           !looking() && may_take_more(now);
}

// 1. A runner must be free.
void Sampler::try_sample(Clock::time_point now) {
    auto leased = runners_->lease();
    if (auto* lease = std::get_if<SampleRunner::Lease>(&leased))
        return sample(std::move(*lease), now);
    const auto& busy = std::get<RunnerPool::Busy>(leased);
    if (busy.refusal) results_.add_refusal(*busy.refusal);
    busy.for_a_moment ? schedule_.soon(now) : schedule_.on_miss(now);
}

void Sampler::sample(SampleRunner::Lease runner, Clock::time_point now) {
    // 2. A process is chosen among those that run, and pays for its last sample.
    auto* process = processes_->choose(design_.random(), now);
    costs_.pass(now, static_cast<double>(processes_->running()));
    if (!process) {
        results_.add_idle();
        return schedule_next(nullptr);
    }
    take_syscall_stops();
    if (options_.sample_time) process->kinds.begin_with_windows();
    costs_.settle(*process, now, runners_->cpu_ns(), runners_->is_busy());

    // 3. A kind of sample is chosen, which may be too dear now.
    SampleSource& source = choice_.next(*process);
    if (const auto until = costs_.too_dear_until(source.expected_cost_seconds(*process), now))
        return schedule_.postpone(now, std::min(*until, now + longest_wait_for_budget));

    // 4. It is planned, taken and settled: see SampleInSteps.
    keep_off_processors_of(*process);
    const auto number = process->number;
    const auto cost_before = costs_.total_seconds();
    const SampleShare share{schedule_.weight(), processes_->running()};
    const auto taken = source.sample(*process, {std::move(runner), share});
    choice_.on_tried(source, costs_.total_seconds() - cost_before);
    if (!taken) {
        results_.add_refusal(taken.error());
        return schedule_.on_refusal(Clock::now());
    }
    if (taken->kind == SampleTaken::Kind::later) {
        not_before_ = taken->not_before;
        return schedule_.soon(Clock::now());
    }
    choice_.on_done(source);
    note(*process, *taken);

    // 5. The next one is scheduled.
    schedule_next(processes_->find(number));
}

void Sampler::note(SampledProcess& process, const SampleTaken& taken) {
    switch (taken.kind) {
        case SampleTaken::Kind::begun:
            processes_->log().begin_sample(process.number);
            process.idle_in_a_row = 0;
            taken_ += taken.counts;
            break;
        case SampleTaken::Kind::over:
            taken_ += taken.counts;
            break;
        case SampleTaken::Kind::idle:
            ++process.idle_in_a_row;
            results_.add_idle();
            break;
        case SampleTaken::Kind::later:
            break;
    }
}

// The one that wants to look at its last sample's process again.
SampleSource* Sampler::looking() const {
    const auto it = std::ranges::find_if(
        sources_, [](const auto* source) { return source->next_look().has_value(); });
    return it == sources_.end() ? nullptr : *it;
}

// 6. Where the sample has a window, the process is looked at again, until the window is known.
// False: that is not due.
bool Sampler::look(Clock::time_point now) {
    auto* source = looking();
    if (!source || now < *source->next_look()) return false;
    source->look(now, finder());
    return true;
}

void Sampler::stop_looking() {
    for (auto* source : sources_) source->stop_looking();
}

SampleSource::FindProcess Sampler::finder() {
    return [this](std::uint64_t number) { return processes_->find(number); };
}

// Where several processes run there is hardly a processor to keep off.
void Sampler::keep_off_processors_of(const SampledProcess& process) {
    const auto workers = runners_->worker_pids();
    if (processes_->running() <= 1)
        own_processors_.keep_off(process.target->pid(), workers);
    else
        own_processors_.avoid({}, workers);
}

// `process` is null if it has ended, or if nothing ran.
void Sampler::schedule_next(const SampledProcess* process) {
    const auto now = Clock::now();
    SampleSchedule::Outlook outlook{.stretch = processes_->pace()};
    bool ahead = false;
    // What a budget leaves in stretches that are all alike is for those that are not.
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

// Samples by time are to weigh by how fast the program was, which a window tells of its own sample
// and of others in the same code.
bool Sampler::is_timed(const SampledProcess& process, const SampleReport& report) const {
    return !options_.sample_time || (report.of_window && report.of_window->seconds) ||
           (report.kind == SampleKind::live && process.speeds.knows(report.began_at));
}

// 7. The emulation goes on in the runner's thread. It tells when the replica is no longer needed,
// when an instruction is to be stepped, and when the sample has finished.
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

// 8. What it has seen is in the collector; what it came to is added up.
void Sampler::on_finished(SampleRunner& runner) {
    const auto report = runner.take_report();
    auto* process = processes_->find(report.process);
    const auto ahead = runner.source()->on_finished(runner, report, process);
    if (ahead.count() != 0 && !give_up_ && !report.replace_worker) runner.prepare(ahead);
    if (!report.is_void) {
        processes_->log().finish_sample(report.process, report.instructions * report.weight);
        if (process)
            process->kinds.on_yield(report.kind, report.instructions, is_timed(*process, report));
        results_.add(report);
    } else {
        processes_->log().cancel_sample(report.process);
        results_.add_void(report);
        if (process) process->kinds.on_lost(report.kind);
        taken_ -= report.kind == SampleKind::shadow;
        // Another one may take its place. What else ends sampling does so again.
        if (may_take_more(Clock::now())) give_up_.reset();
    }
    if (!report.replace_worker) return;
    if (const auto replaced = runners_->replace_worker(runner); !replaced)
        results_.add_refusal(replaced.error());
}

}  // namespace shadowprof
