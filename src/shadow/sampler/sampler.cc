#include "shadow/sampler/sampler.h"

#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/files/fd.h"
#include "shadow/looks/clock_looks.h"
#include "shadow/looks/thread_looks.h"

namespace shadowprof {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

// How long samples may go on after the target's end.
constexpr milliseconds drain_limit{5000};
// The same when the user has asked for the end.
constexpr milliseconds hurried_limit{1000};
constexpr milliseconds longest_sleep{250};
constexpr milliseconds min_sleep{1};
// How long before a look we wait on the processor of a thread.
constexpr Sampler::Clock::duration look_ahead = std::chrono::microseconds(500);
// The part of a budget that looks at threads may take (Looks), and the part that they take of
// a large one.
constexpr double max_share_for_looks = 0.3, share_for_looks = 0.1;
// A target whose system calls are watched may make the next one before the last status is handled.
// After this many statuses, other work has its turn.
constexpr int max_statuses_in_a_row = 64;

SampleSchedule::Pace pace_of(const RunOptions& options, const SamplingCosts& costs) {
    SampleSchedule::Pace pace{
        .load = options.load.value_or(default_load), .cost_share = costs.share(), .period = {}};
    if (options.live_timing) pace.period = options.live_timing->period;
    return pace;
}

std::unique_ptr<Looks> make_looks(LookMethod method, std::uint64_t seed, double max_share) {
    if (method == LookMethod::best)
        if (auto looks = ClockLooks::open(seed, max_share)) return std::move(*looks);
    return std::make_unique<ThreadLooks>(seed, max_share);
}

}  // namespace

Sampler::Sampler(const RunOptions& options, std::uint64_t seed, WaitHub& hub, ModuleTable& modules,
                 const ProcessProfile& profile, const ProbeRequest* probes)
    : options_(options),
      hub_(hub),
      settings_(options.bursts, options.profiles),
      costs_(options_, hub),
      event_stops_(costs_.stop_price_ns()),
      design_(options_, settings_, seed),
      schedule_(pace_of(options, costs_), design_.random()()),
      results_(profile, options.until_converged_percent),
      policy_(options.mode),
      live_(options_, design_, costs_, policy_, probes),
      shadows_(options_, design_, costs_, results_, schedule_, policy_, recorder_, live_),
      sources_{&live_, &shadows_},
      choice_(options_, costs_, shadows_, live_) {
    if (options_.looks != LookMethod::none) {
        const double budget = costs_.share().value_or(Looks::usual_share / share_for_looks);
        const double share = std::min(std::max(Looks::usual_share, share_for_looks * budget),
                                      max_share_for_looks * budget);
        using enum ProgramTime::Waits;
        time_.emplace(modules, make_looks(options_.looks, seed, share),
                      options_.profiles.has<WaitList>() ? noted : left_out, seed);
    }
}

Result<std::unique_ptr<Sampler>> Sampler::create(const RunOptions& options, std::uint64_t seed,
                                                 WaitHub& hub, ModuleTable& modules,
                                                 ProcessProfile& profile,
                                                 const ProbeRequest* probes) {
    std::unique_ptr<Sampler> sampler(new Sampler(options, seed, hub, modules, profile, probes));
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sampler->child_signals_.reset(signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!sampler->child_signals_) return errno_error("signalfd");
    TRY_ASSIGN(sampler->runners_,
               RunnerPool::create(hub, modules, profile, probes, sampler->max_runners()));
    return sampler;
}

// Live samples are short, and the translated code is in one worker.
std::size_t Sampler::max_runners() const {
    return options_.mode == SamplingMode::live ? 1 : schedule_.max_active();
}

void Sampler::measure_beside(std::unique_ptr<SampleSource> source) {
    beside_ = std::move(source);
    choice_.set_beside(beside_.get());
    sources_.push_back(beside_.get());
}

void Sampler::drop_if(const std::function<bool(std::uint64_t process)>& condition) {
    for (auto* source : sources_) source->drop_if(condition);
}

Result<void> Sampler::run(Target& target, const ProgressListener& on_progress,
                          const SamplingEnd& end) {
    begin_ = Clock::now();
    processes_.emplace(hub_, target, begin_, std::move(children_));
    schedule_.begin(begin_ + options_.delay);
    costs_.begin(begin_ + options_.delay);
    results_.begin(begin_);
    processes_->watch_syscalls(&recorder_);
    auto result = loop(target, on_progress, end);
    look_visit_.reset();
    drop_plan();
    stop_observing();
    runners_->stop_preparing();
    processes_->watch_syscalls(nullptr);
    end_ = Clock::now();
    if (time_) time_->finish(*processes_, *end_);
    take_syscall_stops();
    if (give_up_) drop_if([](auto) { return true; });
    return result;
}

Result<void> Sampler::loop(Target& target, const ProgressListener& on_progress,
                           const SamplingEnd& end) {
    auto next_progress = begin_ + progress_period;
    while (true) {
        const bool has_more = !take_statuses();
        take_runner_events();
        if (target.end()) return {};
        TRY(detach_unsupported());
        let_go_where_stops_are_too_many();
        const auto now = Clock::now();
        follow_those_that_wait(now);
        take_commands(now);
        check_for_end(end, now);
        look(now);
        if (give_up_) stop_observing();
        if (give_up_ && (!runners_->is_busy() || nothing_to_sample_ || now >= *give_up_)) return {};
        if (observe(now)) continue;
        if (plan_or_take(now)) continue;
        if (on_progress && !settings_.is_paused() && now >= next_progress) {
            next_progress = now + progress_period;
            on_progress({duration<double>(now - begin_).count(), results_.samples(),
                         results_.instructions()});
        }
        wait(end, has_more ? now : now + sleep_time(now));
    }
}

// Looks at threads while samples may be taken.
void Sampler::look(Clock::time_point now) {
    if (!time_) return;
    const bool is_on =
        settings_.is_on() && !give_up_ && now >= begin_ + options_.delay && may_take_more(now);
    const auto paused = time_->paused();
    const bool has_come = look_visit_ || visit_ || time_->next_look() == Clock::time_point{};
    if (is_on && now >= time_->next_look() && !has_come) time_->skip_look(now);
    if (is_on)
        time_->update(*processes_, processor_to_look_at(), now);
    else
        time_->pause(*processes_, now);
    costs_.add_looks(time_->paused() - paused);
    plan_look(is_on, now);
}

// Nothing where the kernel does not let us choose our processor.
std::optional<int> Sampler::processor_to_look_at() const {
    const auto& visit = look_visit_ ? look_visit_ : visit_;
    if (visit && !visit->has_moved()) return std::nullopt;
    return sched_getcpu();
}

// Shortly before threads are looked at, we go to the processor of one that runs. Elsewhere we would
// take the processor of those that it works with, and it would sleep when it is looked at.
void Sampler::plan_look(bool is_on, Clock::time_point now) {
    const bool is_near = is_on && now + look_ahead >= time_->next_look();
    if (!is_near) return look_visit_.reset();
    if (std::exchange(look_planned_, time_->next_look()) == time_->next_look() || visit_) return;
    if (const auto processor = time_->plan_look(*processes_, now))
        look_visit_.emplace(own_processors_, processor);
}

// Waits for statuses, events of runners, the user's request to end, and commands.
void Sampler::wait(const SamplingEnd& end, Clock::time_point until) {
    pollfd waiting[] = {{child_signals_.get(), POLLIN, 0},
                        {runners_->fd(), POLLIN, 0},
                        {give_up_ ? -1 : end.request_fd, POLLIN, 0},
                        {control_ ? control_->fd() : -1, POLLIN, 0}};
    // The loop itself takes some hundred microseconds.
    const auto start = Clock::now();
    const auto ns = to_ns(std::max(until - start, Clock::duration{}));
    const timespec timeout = {static_cast<time_t>(ns / 1'000'000'000),
                              static_cast<long>(ns % 1'000'000'000)};
    ppoll(waiting, std::size(waiting), &timeout, nullptr);
    const auto woke = Clock::now();
    waited_ += woke - start;
    // At once: what works for the target may wait for the processor that we have now.
    if (time_ && woke >= time_->next_look()) look(woke);
    signalfd_siginfo seen;
    while (read(child_signals_.get(), &seen, sizeof seen) > 0) {
    }
}

Sampler::Clock::duration Sampler::sleep_time(Clock::time_point now) const {
    const bool plans_look = time_ && look_planned_ != time_->next_look();
    const auto ahead = plans_look ? look_ahead : Clock::duration{};
    const Clock::duration longest =
        time_ ? std::clamp<Clock::duration>(time_->next_look() - ahead - now, {}, longest_sleep)
              : longest_sleep;
    if (const auto* source = looking())
        return std::clamp(*source->next_observation() - now, Clock::duration{}, longest);
    if (!may_sample(now)) return longest;
    const auto shortest = next_ ? Clock::duration{} : Clock::duration(min_sleep);
    return std::clamp<Clock::duration>(next_step() - now, shortest, longest);
}

// Returns true if there are no more.
bool Sampler::take_statuses() {
    const auto woke = Clock::now();
    bool all = false;
    for (int i = 0; i < max_statuses_in_a_row && !all; ++i) {
        // A status of no target is a worker's, whose end its runner notices.
        const auto event = hub_.poll();
        if (event) processes_->handle(*event);
        all = !event;
    }
    const auto paused = costs_.stopped() - std::exchange(paused_, costs_.stopped());
    costs_.add_event_stops(event_stops_.charge(*processes_, woke, Clock::now(),
                                               std::exchange(waited_, {}) + paused,
                                               costs_.share_for_event_stops()));
    processes_->update(Clock::now());
    return all;
}

// Detaches from processes whose programs cannot be sampled.
Result<void> Sampler::detach_unsupported() {
    while (auto* process = processes_->find_unsupported()) {
        const auto number = process->number;
        results_.add_refusal("a process executed a program that is not for x86-64");
        drop_if([&](std::uint64_t each) { return each == number; });
        auto detached = processes_->detach(*process, Clock::now());
        if (number == 0) TRY(std::move(detached));
    }
    nothing_to_sample_ = processes_->has_nothing_to_sample();
    return {};
}

// Until their next sample they run without us. What lives on of their samples needs them followed.
void Sampler::let_go_where_stops_are_too_many() {
    if (give_up_) return;
    while (auto* process = EventStops::find_used_up(*processes_)) {
        const auto number = process->number;
        drop_plan();
        drop_if([&](std::uint64_t each) { return each == number; });
        if (const auto cost = event_stops_.let_go(*process))
            costs_.add_event_stops(*cost);
        else
            results_.add_refusal(cost.error());
        processes_->update(Clock::now());
    }
}

// A process that sleeps has no samples, but what it starts has, if the process is followed then.
void Sampler::follow_those_that_wait(Clock::time_point now) {
    if (give_up_ || !may_take_more(now)) return;
    while (auto* process = EventStops::find_waiting(*processes_)) follow(*process);
}

// Follows a process that was let go. Returns false if that is refused.
bool Sampler::follow(SampledProcess& process) {
    const auto cost = event_stops_.follow_again(process);
    if (cost)
        costs_.add_event_stops(*cost);
    else
        results_.add_refusal(cost.error());
    return cost.has_value();
}

Result<void> Sampler::detach(Target::Sleepers sleepers) {
    detached_ = true;
    drop_if([](std::uint64_t process) { return process != 0; });
    return processes_->detach_all(sleepers, Clock::now());
}

void Sampler::take_commands(Clock::time_point now) {
    if (!control_) return;
    const double seconds = duration<double>(now - begin_).count();
    for (const auto& command : control_->take()) {
        // The plan may not be what is wanted now.
        drop_plan();
        if (command.kind == SamplingCommand::Kind::dump)
            take_dump_(command.dump, so_far(command.dump.part));
        else if (settings_.apply(command, seconds, taken_))
            obey(command, now);
    }
}

// Obeys what is not read from the settings when a sample begins.
void Sampler::obey(const SamplingCommand& command, Clock::time_point now) {
    if (command.kind == SamplingCommand::Kind::budget) {
        costs_.set_budget(command.number, now, static_cast<double>(processes_->running()));
        schedule_.set_cost_share(costs_.share());
    } else if (command.kind == SamplingCommand::Kind::load) {
        schedule_.set_load(command.number);
        runners_->set_most(max_runners());
    } else if (command.kind == SamplingCommand::Kind::profiles) {
        choice_.collect(command.profiles);
    }
}

void Sampler::check_for_end(const SamplingEnd& end, Clock::time_point now) {
    const auto by = [this](Clock::time_point limit) {
        give_up_ = std::min(give_up_.value_or(limit), limit);
    };
    if (is_readable(end.request_fd)) by(now + hurried_limit);
    const bool is_done =
        nothing_to_sample_ || !may_take_more(now) || results_.has_stayed_converged(now);
    if (end.with_last_sample && is_done) by(now + drain_limit);
}

void Sampler::finish() {
    const auto limit = Clock::now() + drain_limit;
    while (runners_->is_busy() && Clock::now() < limit) {
        pollfd waiting = {runners_->fd(), POLLIN, 0};
        poll(&waiting, 1, 10);
        if (!detached_) take_statuses();
        take_runner_events();
    }
    drop_if([](auto) { return true; });
    // Filling the profile can take seconds, and the workers die with this thread. So they are
    // reaped before.
    for (auto* source : sources_) source->end();
    runners_->end();
    // Sources may measure the machine when they fill the profile.
    visit_.reset();
    own_processors_.release();
}

SampledSoFar Sampler::so_far(DumpPart part) {
    take_syscall_stops();
    if (part == DumpPart::phase) results_.fix_scale(end_.has_value());
    SampledSoFar so_far{{}, results_.fixed_scale()};
    fill(so_far.profile, end_.value_or(Clock::now()), &SampleSource::fill_so_far);
    return so_far;
}

void Sampler::fill(Profile& profile) const {
    fill(profile, end_.value_or(begin_), &SampleSource::fill);
}

void Sampler::fill(Profile& profile, Clock::time_point end, FillFromSource fill_from_source) const {
    const auto seconds = duration<double>(end - begin_).count();
    results_.fill(profile);
    if (time_) time_->fill(profile);
    policy_.fill(profile);
    if (policy_.has_live_samples()) {
        auto& counters = profile.sampling.counters;
        costs_.live_samples().fill(counters);
        counters["prepared_instructions"] = runners_->prepared().instructions;
        counters["prepare_ns"] = runners_->prepared().nanoseconds;
    }
    settings_.fill(profile.sampling);
    for (const auto* source : sources_) (source->*fill_from_source)(profile);
    event_stops_.fill(profile, costs_.share().has_value());
    costs_.fill(profile, std::max(seconds, processes_ ? processes_->process_seconds() : 0.0));
    profile.run.seconds = seconds;
    if (processes_) processes_->fill(profile, end);
    results_.scale_processes(profile);
    results_.fill_notes(profile, taken_);
}

}  // namespace shadowprof
