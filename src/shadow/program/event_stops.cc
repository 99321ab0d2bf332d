#include "shadow/program/event_stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/numbered.h"

namespace shadowprof {
namespace {

double elapsed_seconds(EventStops::Clock::time_point from, EventStops::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

// A thread stands still from a moment before we wake up until the last status is handled, as
// another one of it may have come meanwhile. One that had stopped the last time, too, is taken to
// have stopped again at once, and to have stood still whenever we did not wait for it.
double EventStops::charge(ProcessTree& processes, Clock::time_point woke, Clock::time_point now,
                          Clock::duration waited, double share) {
    const auto before = std::exchange(last_, now);
    const auto passed_seconds = before == Clock::time_point{} ? 0 : elapsed_seconds(before, now);
    const auto handling_seconds = elapsed_seconds(woke, now);
    const auto busy_seconds =
        std::max(passed_seconds - std::chrono::duration<double>(waited).count(), handling_seconds);
    double charged_seconds = 0;
    for (auto& [number, process] : processes.processes()) {
        process.stops.pass(now, share);
        if (process.target->is_let_go()) seconds_let_go_ += passed_seconds;
        const auto stops = process.target->take_event_stops();
        const bool stopped_last = std::exchange(process.stopped_last, stops != 0);
        if (stops == 0) continue;
        const auto standing_seconds = stopped_last ? busy_seconds : handling_seconds;
        const auto each_seconds = std::min(passed_seconds, price_seconds_ + standing_seconds);
        stops_ += stops;
        process.stops.spend(each_seconds);
        charged_seconds += each_seconds;
    }
    cost_seconds_ += charged_seconds;
    return charged_seconds;
}

SampledProcess* EventStops::find_used_up(ProcessTree& processes) {
    for (auto& [number, process] : processes.processes()) {
        const Target& target = *process.target;
        const bool is_followed = !target.end() && !target.is_detached() && !target.is_let_go();
        if (is_followed && process.stops.is_used_up()) return &process;
    }
    return nullptr;
}

SampledProcess* EventStops::find_waiting(ProcessTree& processes) {
    for (auto& [number, process] : processes.processes()) {
        const Target& target = *process.target;
        const bool may_start = target.is_let_go() && target.forks() == Forks::follow;
        if (may_start && process.stops.has_room_for_births() && target.is_asleep()) return &process;
    }
    return nullptr;
}

Result<double> EventStops::let_go(SampledProcess& process) {
    const auto start = Clock::now();
    if (auto result = process.target->let_go(); !result) {
        process.stops = {};  // for another trial later
        return std::move(result).error();
    }
    process.was_let_go = true;
    ++let_go_;
    last_ = Clock::now();
    const auto seconds = elapsed_seconds(start, last_);
    process.stops.spend(seconds);
    cost_seconds_ += seconds;
    return seconds;
}

Result<double> EventStops::follow_again(SampledProcess& process) {
    const auto start = Clock::now();
    if (auto result = process.target->seize_again(); !result) {
        process.stops.spend(StopAllowance::seconds_for_births);  // the next trial comes later
        return std::move(result).error();
    }
    last_ = Clock::now();
    const auto seconds = elapsed_seconds(start, last_);
    process.stops.spend(seconds);
    cost_seconds_ += seconds;
    return seconds;
}

void EventStops::fill(Profile& profile, bool has_budget) const {
    auto& counters = profile.sampling.counters;
    counters["event_stops"] = stops_;
    counters["event_stops_ns"] = static_cast<std::uint64_t>(cost_seconds_ * 1e9);
    if (let_go_ == 0) return;
    counters["times_let_go"] = let_go_;
    profile.notes.push_back(fmt::format(
        "processes were let go {}, for {:.2f} s in all: each signal, and each birth of a thread or "
        "a process, stops a program that is traced, and there were too many. Samples of that time "
        "are few or missing, and what was started meanwhile is not followed{}",
        numbered(let_go_, "time"), seconds_let_go_,
        has_budget ? "; a larger --budget allows more stops" : ""));
}

}  // namespace shadowprof
