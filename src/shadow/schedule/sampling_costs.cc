#include "shadow/schedule/sampling_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc/proc.h"
#include "shadow/input/syscall_stop_price.h"

namespace shadowprof {
namespace {

using std::chrono::nanoseconds;

// The share of a budget that is kept back, as some costs are not measured. Caches and memory
// bandwidth that emulation takes from the target only show in elapsed time: 0.1 to 0.3 points of
// slowdown where 0.9 are measured (docs/benchmarks.md).
constexpr double unmeasured_share = 0.15;
// The assumed cost of a fork before one is known: a pause, and a part that grows with the pages
// whose tables are copied.
constexpr double fork_seconds = 200e-6;
constexpr double fork_seconds_per_page = 13e-3 / (1 << 18);
// The most that stops at system calls may cost in one sample. More is better spent on another
// sample, as what a server does next is much like what it does now.
constexpr double max_input_seconds = 0.003;
// The assumed cost of a stop besides its round trip, before one is known.
constexpr double handling_ns = 5e3;
// The assumed lifetime of a replica before one is known. Faults take no more of the target's time
// than passes while it lives.
constexpr double usual_lifetime_seconds = 0.015;
// A note reports costs beyond the budget from this percentage on.
constexpr double min_percent_told = 0.05;
// Samples are taken ahead of time while the budget has room for this many more.
constexpr double samples_ahead = 3;

// A user who asks for a load has decided how long replicas live.
WindowLength::Limits window_lengths_of(const RunOptions& options) {
    const auto shortest = options.sample_time.value_or(RunOptions::shortest_sample_time);
    const bool may_grow = !options.sample_time_is_asked_for && !options.load;
    return {shortest, may_grow ? RunOptions::longest_sample_time : shortest};
}

// The percentage that is left for measured costs.
double measured(double percent) {
    return percent * (1 - unmeasured_share);
}

}  // namespace

SamplingCosts::SamplingCosts(const RunOptions& options, WaitHub& hub)
    : options_(options),
      stop_price_ns_(measure_syscall_stop_price_ns(hub)),
      costs_(measure_fault_prices(hub)),
      window_length_(window_lengths_of(options),
                     options.cpu_budget_in_force().value_or(default_cpu_budget_percent) / 100),
      budget_percent_(options.budget_in_force().value_or(0)) {
    if (budget_percent_ != 0) budget_.emplace(measured(budget_percent_));
    if (const auto percent = options.cpu_budget_in_force()) cpu_budget_.emplace(*percent);
}

std::optional<double> SamplingCosts::share() const {
    return budget_ ? std::optional(budget_->share()) : std::nullopt;
}

void SamplingCosts::begin(Clock::time_point now) {
    if (!budget_) return;
    budget_->begin(now);
    if (!options_.attach_to) budget_->allow_more_at_first();
}

void SamplingCosts::set_budget(double percent, Clock::time_point now, double processes) {
    pass(now, processes);
    if (budget_) return budget_->change(measured(percent));
    budget_.emplace(measured(percent));
    budget_->begin(now, costs_.total_seconds());
}

void SamplingCosts::pass(Clock::time_point now, double processes) {
    if (budget_) budget_->pass(now, costs_.total_seconds(), processes);
}

std::optional<SamplingCosts::Clock::time_point> SamplingCosts::too_dear_until(
    double cost_seconds, Clock::time_point now) const {
    const auto spent_until = cpu_budget_ ? cpu_budget_->spent_until() : std::nullopt;
    if (!budget_) return spent_until;
    const auto too_dear_until = budget_->too_dear_until(costs_.total_seconds(), cost_seconds, now);
    // An empty time is less than all others.
    return std::max(spent_until, too_dear_until);
}

bool SamplingCosts::has_much_room(double cost_seconds, Clock::time_point now) const {
    return budget_ && !too_dear_until(samples_ahead * cost_seconds, now);
}

void SamplingCosts::add_pause(nanoseconds pause) {
    costs_.add_pause(to_ns(pause));
}

void SamplingCosts::add_limited_pause(nanoseconds pause, nanoseconds limit) {
    add_pause(pause);
    live_samples_.add_stop(pause, limit);
}

void SamplingCosts::add_looks(nanoseconds pause) {
    costs_.add_looks(to_ns(pause));
}

void SamplingCosts::add_fork(nanoseconds time) {
    costs_.add_fork(to_ns(time));
}

// There is no limit if the user always wants input to be recorded.
std::uint64_t SamplingCosts::max_input_stops(const SampledProcess& process) {
    recorded_process_ = process.number;
    records_input_ = true;
    if (options_.record_input == RecordInput::always)
        return std::numeric_limits<std::uint64_t>::max();
    const double known_ns = recorded_.stops != 0 ? static_cast<double>(costs_.syscall_stops_ns()) /
                                                       static_cast<double>(recorded_.stops)
                                                 : stop_price_ns_ + handling_ns;
    return std::max(static_cast<std::uint64_t>(max_input_seconds * 1e9 / std::max(known_ns, 1e3)),
                    std::uint64_t{1});
}

void SamplingCosts::take_syscall_stops(const InputRecorder::Totals& totals) {
    const auto stops = static_cast<double>(totals.stops - recorded_.stops);
    const auto cost_ns = static_cast<std::uint64_t>(stops * stop_price_ns_) + totals.handling_ns -
                         recorded_.handling_ns;
    recorded_ = totals;
    costs_.add_syscall_stops(cost_ns);
    unsettled_syscall_seconds_ += static_cast<double>(cost_ns) / 1e9;
}

void SamplingCosts::on_sample(SampledProcess& process, SampleKind kind, nanoseconds pause) {
    process.unsettled = {.kind = kind,
                         .pause_seconds = std::chrono::duration<double>(pause).count()};
    process.kinds.on_sample(kind);
    if (kind == SampleKind::shadow) process.faults.on_fork(process.kinds.pages());
}

void SamplingCosts::on_observed(SampledProcess& process) {
    process.unsettled.emplace();
}

// The shorter a stretch in which we run, the better it is known how much waiting in it is usual.
void SamplingCosts::on_finished(SampledProcess& process, Clock::time_point now,
                                std::uint64_t own_cpu_ns) {
    if (process.theft.is_contended())
        process.unsettled_waiting_seconds += observe_theft(process, now, own_cpu_ns).value_or(0);
}

std::optional<double> SamplingCosts::observe_theft(SampledProcess& process, Clock::time_point now,
                                                   std::uint64_t own_cpu_ns) {
    const auto times = read_run_times(process.target->pid());
    if (!times) return std::nullopt;
    const double waited = process.theft.observe(now, *times, own_cpu_ns, costs_.stopped_ns());
    costs_.add_theft(waited);
    return waited;
}

void SamplingCosts::settle(SampledProcess& process, Clock::time_point now, std::uint64_t own_cpu_ns,
                           bool is_sampling) {
    const pid_t pid = process.target->pid();
    if (cpu_budget_) cpu_budget_->observe(now, own_cpu_ns);
    double seconds =
        process.number == recorded_process_ ? std::exchange(unsettled_syscall_seconds_, 0) : 0;
    double waited = std::exchange(process.unsettled_waiting_seconds, 0);
    if (const auto stat = read_proc_stat(pid)) {
        const auto induced = process.faults.observe(now, stat->minor_faults);
        costs_.add_faults(induced);
        seconds += costs_.fault_prices().seconds(induced);
    }
    if (const auto more = observe_theft(process, now, own_cpu_ns)) {
        waited += *more;
        window_length_.observe(now, own_cpu_ns, waited);
    }
    seconds += waited;
    const auto last = std::exchange(process.unsettled, {});
    const auto standing = process.standing.observe(now, waited, last.has_value(), is_sampling);
    if (budget_) {
        const auto beyond = budget_->write_off(standing.seconds, standing.passed_seconds);
        written_off_seconds_ += beyond;
        if (!last) budget_->on_observation(seconds - beyond);
    }
    if (last && last->kind)
        process.kinds.on_cost(*last->kind, last->pause_seconds + seconds - standing.seconds);
    process.kinds.on_pages(read_anonymous_pages(pid).value_or(0));
}

nanoseconds SamplingCosts::window_length(const SampledProcess& process) const {
    const auto known = process.kinds.known_cost_seconds(SampleKind::shadow);
    return window_length_.worth(known ? *known : max_shadow_seconds(process));
}

double SamplingCosts::max_shadow_seconds(const SampledProcess& process) const {
    const auto pages = process.kinds.pages();
    return fork_seconds + fork_seconds_per_page * static_cast<double>(pages) +
           std::min(costs_.fault_prices().seconds({.copied = pages}), usual_lifetime_seconds) +
           (process.input_need.is_there() ? max_input_seconds : 0);
}

void SamplingCosts::fill(Profile& profile, double seconds) const {
    if (records_input_) {
        auto& counters = profile.sampling.counters;
        counters["input_stops"] = recorded_.stops;
        counters["input_stops_ns"] = costs_.syscall_stops_ns();
        counters["input_calls"] = recorded_.calls;
        counters["input_bytes"] = recorded_.bytes;
    }
    costs_.fill(profile.overhead, seconds);
    profile.overhead.budget_percent = budget_percent_;
    const auto beyond_percent = 100 * written_off_seconds_ / std::max(seconds, 1e-9);
    if (beyond_percent >= min_percent_told)
        profile.notes.push_back(
            fmt::format("a slowdown of {:.1f}% is beyond the budget: costs that do not depend on "
                        "samples, such as those of new threads, took more than half of it, and the "
                        "other half was left for samples",
                        beyond_percent));
}

}  // namespace shadowprof
