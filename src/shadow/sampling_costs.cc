#include "shadow/sampling_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc.h"
#include "shadow/input/syscall_stop_price.h"

namespace shadowprof {
namespace {

using std::chrono::nanoseconds;

// Of a budget. Caches and memory bandwidth that emulation takes from the target are felt by the
// clock alone: 0.1 to 0.3 points of slowdown where 0.9 are measured (docs/benchmarks.md).
constexpr double unmeasured_share = 0.15;
// Of a fork: a pause, and a part that grows with the pages whose tables are copied.
constexpr double fork_seconds = 200e-6;
constexpr double fork_seconds_per_page = 13e-3 / (1 << 18);
// A note tells of costs beyond the budget from this percentage on.
constexpr double least_percent_told = 0.05;
// Samples are taken ahead of the budget's time as long as it has room for so many more.
constexpr double samples_ahead = 3;

// 0: none.
double budget_percent_of(const RunOptions& options) {
    if (!options.budget_percent && (options.load || options.live_timing)) return 0;
    return options.budget_percent.value_or(default_budget_percent);
}

// Who asks for a load has asked for how long replicas live.
WindowLength::Limits window_lengths_of(const RunOptions& options) {
    const auto shortest = options.sample_time.value_or(RunOptions::shortest_sample_time);
    const bool may_grow = !options.sample_time_is_asked_for && !options.load;
    return {shortest, may_grow ? RunOptions::longest_sample_time : shortest};
}

// The percentage that is left for what is measured.
double measured(double percent) {
    return percent * (1 - unmeasured_share);
}

}  // namespace

SamplingCosts::SamplingCosts(const RunOptions& options, WaitHub& hub)
    : options_(options),
      costs_(measure_fault_prices(hub)),
      window_length_(window_lengths_of(options)),
      budget_percent_(budget_percent_of(options)),
      syscall_stop_price_ns_(options.record_input ? measure_syscall_stop_price_ns(hub) : 0) {
    if (budget_percent_ != 0) budget_.emplace(measured(budget_percent_));
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
    if (!budget_) return std::nullopt;
    return budget_->too_dear_until(costs_.total_seconds(), cost_seconds, now);
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

void SamplingCosts::add_fork(nanoseconds time) {
    costs_.add_fork(to_ns(time));
}

void SamplingCosts::take_syscall_stops(const InputRecorder::Totals& totals) {
    const auto stops = static_cast<double>(totals.stops - recorded_.stops);
    const auto cost_ns = static_cast<std::uint64_t>(stops * syscall_stop_price_ns_) +
                         totals.handling_ns - recorded_.handling_ns;
    recorded_ = totals;
    costs_.add_syscall_stops(cost_ns);
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

void SamplingCosts::settle(SampledProcess& process, Clock::time_point now, std::uint64_t own_cpu_ns,
                           bool is_sampling) {
    const pid_t pid = process.target->pid();
    double seconds = 0, waited = 0;
    if (const auto stat = read_proc_stat(pid)) {
        const auto induced = process.faults.observe(now, stat->minor_faults);
        costs_.add_faults(induced);
        seconds += costs_.fault_prices().seconds(induced);
    }
    if (const auto times = read_run_times(pid)) {
        waited = process.theft.observe(now, *times, own_cpu_ns, costs_.stopped_ns());
        costs_.add_theft(waited);
        window_length_.observe(now, own_cpu_ns, waited);
        seconds += waited;
    }
    const auto last = std::exchange(process.unsettled, {});
    const auto standing = process.standing.observe(now, waited, last.has_value(), is_sampling);
    if (budget_) {
        const auto beyond = budget_->write_off(standing.seconds, standing.passed_seconds);
        written_off_seconds_ += beyond;
        if (!last) budget_->on_look(seconds - beyond);
    }
    if (last && last->kind)
        process.kinds.on_cost(*last->kind, last->pause_seconds + seconds - standing.seconds);
    process.kinds.on_pages(read_anonymous_pages(pid).value_or(0));
}

double SamplingCosts::most_shadow_seconds(const SampledProcess& process) const {
    const auto pages = process.kinds.pages();
    return fork_seconds + fork_seconds_per_page * static_cast<double>(pages) +
           costs_.fault_prices().seconds({.copied = pages});
}

void SamplingCosts::fill(Profile& profile, double seconds) const {
    if (options_.record_input) {
        auto& counters = profile.sampling.counters;
        counters["input_stops"] = recorded_.stops;
        counters["input_stops_ns"] = costs_.syscall_stops_ns();
        counters["input_calls"] = recorded_.calls;
        counters["input_bytes"] = recorded_.bytes;
    }
    costs_.fill(profile.overhead, seconds);
    profile.overhead.budget_percent = budget_percent_;
    const auto beyond_percent = 100 * written_off_seconds_ / std::max(seconds, 1e-9);
    if (beyond_percent >= least_percent_told)
        profile.notes.push_back(
            fmt::format("{:.1f}% are beyond the budget: births of threads and other things that "
                        "samples do not change cost more than half of it, and the other half was "
                        "left for samples",
                        beyond_percent));
}

}  // namespace shadowprof
