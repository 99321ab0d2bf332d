#include "shadow/latency/latency_sessions.h"

#include <fcntl.h>

#include <algorithm>
#include <csignal>

#include "base/clock.h"
#include "base/urgency.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/emulation/emulation_worker.h"
#include "shadow/latency/calibrated_host.h"
#include "shadow/latency/session_processors.h"
#include "shadow/latency/timer_layout.h"
#include "shadow/program/sample_threads.h"

namespace shadowprof {
namespace {

using std::chrono::duration;
using std::chrono::microseconds;

// What a session is asked for. Loads and other accesses are skipped as long as they may have been
// under way in the core when it was interrupted (L1 fill buffers; Intel Optimization Reference
// Manual), or waited to retire.
constexpr LoadLimits session_limits{
    .loads = 64, .accesses = 8192, .skipped_loads = 16, .skipped_accesses = 256};
constexpr double newest_weight = 0.2;  // weight of the newest cost in the mean
// How long it takes to stop and restore the thread, and to let all threads go on.
constexpr microseconds end_time{60};
constexpr microseconds end_time_of_thread{4};

bool is_for_good(const Error& error) {
    return error.code == ErrorCode::permission;
}

std::span<const Probe> probes_of(const ProbeRequest* request) {
    if (!request) return {};
    return request->probes.probes();
}

bool speak_of_latency(std::span<const Probe> probes) {
    return std::ranges::any_of(probes, [](const Probe& probe) { return probe.uses_latency(); });
}

}  // namespace

LatencySessions::LatencySessions(const RunOptions& options, std::uint64_t seed, WaitHub& hub,
                                 ModuleTable& modules, SamplingCosts& costs,
                                 const ProbeRequest* probes)
    : options_(options),
      limit_(options.live_timing ? options.live_timing->longest_stop : default_stop_limit),
      random_(seed),
      hub_(hub),
      modules_(modules),
      costs_(costs),
      probed_(probes_of(probes), 0),
      worker_probes_(speak_of_latency(probes_of(probes)) ? probes : nullptr, modules) {}

LatencySessions::~LatencySessions() {
    end_worker();
}

void LatencySessions::end_worker() {
    if (!worker_) return;
    kill(worker_->pid(), SIGKILL);
    hub_.discard(worker_->pid());
    worker_.reset();
}

Result<void> LatencySessions::have_worker() {
    if (worker_) return {};
    TRY_ASSIGN(worker_, start_emulation_worker());
    worker_probes_.new_worker();
    return {};
}

bool LatencySessions::may_sample(const SampledProcess& process) const {
    const auto it = places_.find(process.number);
    return it == places_.end() || it->second.exec_count != process.target->exec_count() ||
           !it->second.refusal;
}

LatencyProcess& LatencySessions::place_of(const SampledProcess& process) {
    const auto exec_count = process.target->exec_count();
    const auto known = places_.find(process.number);
    if (known != places_.end() && known->second.exec_count == exec_count) return known->second;
    places_.erase(process.number);
    auto& place = places_[process.number];
    place.exec_count = exec_count;
    return place;
}

// Called before the stop.

Result<LatencySessions::Planned> LatencySessions::plan_steps(SampledProcess& process,
                                                             SampleOrder order) {
    if (!may_sample(process))
        return Error{ErrorCode::permission, 0, "loads cannot be timed in this program"};
    const auto in_vain = [] {
        return Planned(SampleTaken{.kind = SampleTaken::Kind::over, .counts = false});
    };
    if (!have_worker()) return in_vain();
    auto& place = place_of(process);
    auto planned = plan_at(*process.target, place);
    if (!planned) {
        if (is_for_good(planned.error())) place.refusal = planned.error().message;
        if (place.refusal) ++refusals_[*place.refusal];
        return in_vain();
    }
    const auto prepared = worker_probes_.try_prepare(*worker_, planned->map);
    if (!prepared) return in_vain();
    if (!*prepared) return Planned(SampleTaken{.kind = SampleTaken::Kind::later});
    planned->runner.emplace(std::move(order.runner));
    return Planned(*std::move(planned));
}

Result<LatencyPlan> LatencySessions::plan_at(const Target& target, LatencyProcess& place) {
    const pid_t thread = target.live_thread_id();
    TRY_ASSIGN(const auto status, read_proc_status(thread));
    if (status.ignored_signals & load_signals)
        return Error{ErrorCode::permission, 0,
                     "the program ignores SIGSEGV or SIGBUS, which timing its loads would need"};
    LatencyPlan plan{.place = &place};
    TRY_ASSIGN(plan.memory, open_process_memory(thread, O_RDONLY));
    TRY_ASSIGN(plan.maps_text, read_maps_text(thread));
    TRY_ASSIGN(plan.map, MemoryMap::parse(plan.maps_text));
    if (place.scratch && !place.scratch->is_in(plan.map)) place.scratch.reset();
    if (plan.maps_text == place.timeable_maps) return plan;
    place.timeable = TimeableMemory(plan.map);
    place.timeable_maps = plan.maps_text;
    if (!wants_smaps(plan.map)) return plan;
    TRY_ASSIGN(const auto smaps, read_smaps_text(thread));
    TRY_ASSIGN(place.timeable, TimeableMemory::parse(smaps));
    return plan;
}

// Makes the stop.

LatencyShot LatencySessions::take(SampledProcess& process, LatencyPlan plan) {
    LatencyShot shot{.plan = std::move(plan)};
    Target& target = *process.target;
    const auto stat = read_proc_stat(target.pid());
    const SessionProcessors processors(stat ? stat->cpu : -1, worker_->pid());
    const Urgency urgent_worker(worker_->pid());
    const auto timed = time_in_stop(target, shot);
    shot.pause = Clock::now() - target.stop_began();
    shot.was_timed = timed && shot.loads;
    // The process runs again, but the worker may not have ended yet.
    if (shot.loads) finish_loads(*worker_, *shot.loads);
    return shot;
}

Result<void> LatencySessions::time_in_stop(Target& target, LatencyShot& shot) {
    TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::leave_rarely_woken, {.longest = limit_}));
    const auto resuming = end_time + end_time_of_thread * static_cast<int>(stop.threads().size());
    const auto until = target.stop_began() + std::max(limit_ - resuming, limit_ / 2);
    if (stop.in_group_stop()) return {};
    if (!shot.plan.place->scratch) {
        TRY(inject(stop, *shot.plan.place));
        shot.later = true;
        return {};
    }
    TRY_ASSIGN(const auto maps_now, read_maps_text(target.live_thread_id(), until));
    shot.later = maps_now != shot.plan.maps_text;
    if (shot.later) return {};
    auto threads = choose_threads(stop, options_.threads, random_, {});
    if (threads.empty()) return {};
    std::erase_if(threads, [&](const SampleThread& thread) {
        const auto* mapping = shot.plan.map.find(thread.cpu.rip);
        return !thread.runs || !mapping || mapping->name == "[vdso]";
    });
    shot.later = threads.empty();
    if (shot.later) return {};
    const auto chosen = std::ranges::find(stop.threads(), threads.front().tid,
                                          [](const auto& thread) { return thread.tid(); });
    if (chosen == stop.threads().end()) return {};
    return time_loads(*chosen, threads.front().cpu, shot, until);
}

Result<void> LatencySessions::inject(ScopedStop& stop, LatencyProcess& place) {
    auto scratch = ScratchMemory::inject(stop, timer_code(), timer_data_bytes);
    if (!scratch) {
        if (is_for_good(scratch.error())) {
            place.refusal = scratch.error().message;
            ++refusals_[*place.refusal];
        }
        return std::move(scratch).error();
    }
    place.scratch.emplace(*std::move(scratch));
    return {};
}

Result<void> LatencySessions::time_loads(StoppedThread& thread, const CpuState& cpu,
                                         LatencyShot& shot, Clock::time_point until) {
    auto& place = *shot.plan.place;
    auto& loads = shot.loads.emplace();
    const auto start = Clock::now();
    const auto stat = read_thread_stat(thread.tid(), thread.tid());
    // The session is over for the worker, unless it is asked to begin.
    loads.is_over = true;
    TRY_ASSIGN(auto timer, LoadTimer::begin(thread, *place.scratch, limit_));
    // The first answer shows that the thread runs, and where.
    const GuestAddress own = place.scratch->data() + TIMER_ANSWER;
    TRY_ASSIGN(const auto first, timer.time(own, own, until));
    if (!first) return Error{ErrorCode::system, 0, "the timing code cannot read its own memory"};
    // The kernel is asked: in some virtual machines RDTSCP tells the number of the host's
    // processor.
    const auto now = read_thread_stat(thread.tid(), thread.tid());
    if (!stat || !now || now->cpu != stat->cpu) {
        ++migrated_;
        return timer.finish();
    }
    const auto begun = worker_->begin_loads({.cpu = cpu,
                                             .limits = session_limits,
                                             .maps_text = shot.plan.maps_text,
                                             .memory_fd = shot.plan.memory.get(),
                                             .until = until,
                                             .forget_code = std::exchange(forget_code_, false)});
    if (begun)
        loads = follow_loads(*worker_, timer, place.timeable, until);
    else
        loads.worker_lost = true;
    session_ns_ += to_ns(Clock::now() - start);
    return timer.finish();
}

// Called after the stop.

// A session that fails is over, too, as it would be due forever otherwise.
Result<SampleTaken> LatencySessions::settle(SampledProcess& process, LatencyShot shot) {
    costs_.add_limited_pause(shot.pause, limit_);
    expected_seconds_ += newest_weight * (duration<double>(shot.pause).count() - expected_seconds_);
    if (shot.loads) account(process, shot);
    if (shot.later) return SampleTaken{.kind = SampleTaken::Kind::later};
    return SampleTaken{.kind = SampleTaken::Kind::over,
                       .counts = shot.was_timed && !options_.profiles.has_any_of_samples()};
}

void LatencySessions::account(const SampledProcess& process, const LatencyShot& shot) {
    const auto& loads = *shot.loads;
    ++sessions_;
    questions_ += loads.questions;
    timing_ns_ += loads.timing_ns;
    const auto view =
        process.number == 0 ? std::nullopt : std::optional(CodeView::of(process.target->pid()));
    MapResolver resolver(shot.plan.map, modules_, view ? &*view : nullptr);
    for (const auto& load : loads.timed)
        table_.add_timed(resolver.resolve(load.pc), load.address, load.size_bytes, load.cycles);
    // Calls in progress are not known here.
    for (const auto& record : loads.probed)
        probed_.add(record, resolver.resolve(record.pc), std::nullopt);
    for (const auto& tally : loads.tallies) {
        // Limited, as the worker is not trusted.
        const auto limited = [](std::uint64_t n) { return std::min(n, session_limits.accesses); };
        const auto at = resolver.resolve(tally.pc);
        const auto reused = limited(tally.reused), moved = limited(tally.moved);
        table_.add_reused(at, reused, std::min(tally.line_crossings, reused),
                          std::min(tally.page_crossings, reused));
        table_.add_moves(at, limited(tally.constant), moved, std::min(tally.chased, moved),
                         {tally.stride, std::min(tally.strided, moved)});
    }
    const auto add = [&](std::uint64_t LoadCounts::*field) {
        counts_.*field += loads.counts.*field;
    };
    for (const auto field :
         {&LoadCounts::accesses, &LoadCounts::timed, &LoadCounts::skipped, &LoadCounts::not_plain,
          &LoadCounts::in_code, &LoadCounts::partly_known, &LoadCounts::changed})
        add(field);
    ++ended_[std::string(name(loads.end))];
    if (loads.worker_lost || loads.worker_exhausted) end_worker();
}

void LatencySessions::fill(Profile& profile) const {
    std::optional<LatencyHost> host;
    if (questions_ != 0) {
        auto calibrated = calibrated_host(hub_);
        if (calibrated)
            host = std::move(calibrated->host);
        else
            profile.notes.push_back("it is not known which level of memory loads came from: " +
                                    calibrated.error().message);
    }
    profile.latency = table_.loads(host.value_or(LatencyHost{}));
    profile.latency_host = std::move(host);
    profile.probes = probed_.profiles();
    fill_counters(profile);
}

void LatencySessions::fill_so_far(Profile& profile) const {
    profile.latency = table_.loads({});
    if (!profile.latency.empty())
        profile.notes.emplace_back(
            "only the profile of the whole run says which level of memory loads came from");
    profile.probes = probed_.profiles();
    fill_counters(profile);
}

void LatencySessions::fill_counters(Profile& profile) const {
    auto& counters = profile.sampling.counters;
    counters["latency_sessions"] = sessions_;
    counters["latency_sessions_migrated"] = migrated_;
    counters["latency_session_ns"] = session_ns_;
    counters["latency_questions"] = questions_;
    counters["latency_timing_ns"] = timing_ns_;
    counters["latency_accesses"] = counts_.accesses;
    counters["latency_loads_timed"] = counts_.timed;
    counters["latency_loads_skipped"] = counts_.skipped;
    counters["latency_loads_in_code"] = counts_.in_code;
    counters["latency_loads_partly_known"] = counts_.partly_known;
    counters["latency_loads_changed"] = counts_.changed;
    counters["latency_not_plain"] = counts_.not_plain;
    for (const auto& [reason, times] : ended_) counters["latency_ended_" + reason] = times;
    for (const auto& [reason, times] : refusals_)
        profile.notes.push_back("no load latencies: " + reason);
}

}  // namespace shadowprof
