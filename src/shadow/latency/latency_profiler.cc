#include "shadow/latency/latency_profiler.h"

#include <fcntl.h>

#include <algorithm>
#include <csignal>

#include "base/clock.h"
#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "shadow/emulation_worker.h"
#include "shadow/latency/burst_processors.h"
#include "shadow/latency/calibration.h"
#include "shadow/latency/probe_layout.h"
#include "shadow/sample_threads.h"

namespace shadowprof {
namespace {

using std::chrono::duration;
using std::chrono::microseconds;

// What a burst is asked for. So many loads can be under way in a core when it is interrupted (L1
// fill buffers; Intel Optimization Reference Manual), and as many instructions wait to retire.
constexpr LoadLimits burst_limits{
    .loads = 64, .accesses = 8192, .skipped_loads = 16, .skipped_accesses = 256};
constexpr double newest_weight = 0.2;  // of the mean cost
// To stop and restore the thread, and to let all go on.
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

LatencyProfiler::LatencyProfiler(WaitHub& hub, ModuleTable& modules, std::chrono::nanoseconds limit,
                                 const ProbeRequest* probes)
    : hub_(hub),
      modules_(modules),
      limit_(limit),
      probed_(probes_of(probes), 0),
      worker_probes_(speak_of_latency(probes_of(probes)) ? probes : nullptr, modules) {}

LatencyProfiler::~LatencyProfiler() {
    if (!worker_) return;
    kill(worker_->pid(), SIGKILL);
    hub_.discard(worker_->pid());
}

Result<void> LatencyProfiler::have_worker() {
    if (worker_) return {};
    TRY_ASSIGN(worker_, start_emulation_worker());
    worker_probes_.new_worker();
    return {};
}

bool LatencyProfiler::may_take(const SampledProcess& process) const {
    const auto it = places_.find(process.number);
    return it == places_.end() || it->second.exec_count != process.target->exec_count() ||
           !it->second.refusal;
}

LatencyProfiler::Place& LatencyProfiler::place_of(const SampledProcess& process) {
    const auto exec_count = process.target->exec_count();
    const auto known = places_.find(process.number);
    if (known != places_.end() && known->second.exec_count == exec_count) return known->second;
    places_.erase(process.number);
    auto& place = places_[process.number];
    place.exec_count = exec_count;
    return place;
}

// What can be known before the stop.
Result<LatencyProfiler::Plan> LatencyProfiler::plan(const Target& target, Place& place) {
    const pid_t thread = target.live_thread_id();
    TRY_ASSIGN(const auto status, read_proc_status(thread));
    if (status.ignored_signals & load_signals)
        return Error{ErrorCode::permission, 0, "the program ignores SIGSEGV or SIGBUS"};
    Plan plan;
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

Result<LatencyProfiler::Taken> LatencyProfiler::take(SampledProcess& process, ThreadScope scope,
                                                     std::mt19937_64& random) {
    pause_ = {};
    TRY(have_worker());
    Place& place = place_of(process);
    auto planned = plan(*process.target, place);
    if (!planned) {
        if (is_for_good(planned.error())) place.refusal = planned.error().message;
        if (place.refusal) ++refusals_[*place.refusal];
        return std::move(planned).error();
    }
    TRY_ASSIGN(const bool prepared, worker_probes_.try_prepare(*worker_, planned->map));
    if (!prepared) return Taken::later;
    std::optional<BurstLoads> loads;
    const auto stat = read_proc_stat(process.target->pid());
    const BurstProcessors processors(stat ? stat->cpu : -1, worker_->pid());
    auto taken = in_stop(process, place, *planned, scope, random, loads);
    if (loads) {
        finish_loads(*worker_, *loads);
        account(process, *planned, *loads);
    }
    if (pause_.count() != 0)
        expected_seconds_ += newest_weight * (duration<double>(pause_).count() - expected_seconds_);
    return taken;
}

// The stop, from its first to its last moment.
Result<LatencyProfiler::Taken> LatencyProfiler::in_stop(SampledProcess& process, Place& place,
                                                        Plan& plan, ThreadScope scope,
                                                        std::mt19937_64& random,
                                                        std::optional<BurstLoads>& loads) {
    Target& target = *process.target;
    const auto work = [&]() -> Result<Taken> {
        TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::leave_alone, limit_));
        const auto resuming =
            end_time + end_time_of_thread * static_cast<int>(stop.threads().size());
        const auto until = target.stop_began() + std::max(limit_ - resuming, limit_ / 2);
        if (stop.in_group_stop()) return Taken::idle;
        if (!place.scratch) return inject(stop, place);
        TRY_ASSIGN(const auto maps_now, read_maps_text(target.live_thread_id(), until));
        if (maps_now != plan.maps_text) return Taken::later;
        auto threads = choose_threads(stop, scope, random);
        if (threads.empty()) return Taken::idle;
        const auto in_vdso = [&](const SampleThread& thread) {
            const auto* mapping = plan.map.find(thread.cpu.rip);
            return !thread.runs || !mapping || mapping->name == "[vdso]";
        };
        std::erase_if(threads, in_vdso);
        if (threads.empty()) return Taken::later;
        const auto chosen = std::ranges::find(stop.threads(), threads.front().tid,
                                              [](const auto& thread) { return thread.tid(); });
        if (chosen == stop.threads().end()) return Taken::idle;
        TRY(burst(*chosen, threads.front().cpu, place, plan, until, loads.emplace()));
        return Taken::yes;
    };
    auto taken = work();
    pause_ = Clock::now() - target.stop_began();
    return taken;
}

Result<LatencyProfiler::Taken> LatencyProfiler::inject(ScopedStop& stop, Place& place) {
    auto scratch = ScratchMemory::inject(stop, probe_code(), probe_data_bytes);
    if (!scratch) {
        if (is_for_good(scratch.error())) {
            place.refusal = scratch.error().message;
            ++refusals_[*place.refusal];
        }
        return std::move(scratch).error();
    }
    place.scratch.emplace(*std::move(scratch));
    return Taken::later;
}

Result<void> LatencyProfiler::burst(StoppedThread& thread, const CpuState& cpu, Place& place,
                                    const Plan& plan, Clock::time_point until, BurstLoads& loads) {
    const auto start = Clock::now();
    const auto stat = read_thread_stat(thread.tid(), thread.tid());
    // Over for the worker, unless it is asked to begin.
    loads.is_over = true;
    TRY_ASSIGN(auto session, ProbeSession::begin(thread, *place.scratch, limit_));
    // Where it runs now, and that it does.
    const GuestAddress own = place.scratch->data() + PROBE_ANSWER;
    TRY_ASSIGN(const auto first, session.time(own, own, until));
    if (!first) return Error{ErrorCode::system, 0, "the probe cannot read its own memory"};
    if (!stat || static_cast<int>(first->processor & 0xfff) != stat->cpu) {
        ++migrated_;
        return session.finish();
    }
    const auto begun = worker_->begin_loads({.cpu = cpu,
                                             .limits = burst_limits,
                                             .maps_text = plan.maps_text,
                                             .memory_fd = plan.memory.get(),
                                             .until = until,
                                             .forget_code = std::exchange(forget_code_, false)});
    if (begun)
        loads = follow_loads(*worker_, session, place.timeable, until);
    else
        loads.worker_lost = true;
    burst_ns_ += to_ns(Clock::now() - start);
    return session.finish();
}

void LatencyProfiler::account(const SampledProcess& process, const Plan& plan, BurstLoads& loads) {
    ++bursts_;
    questions_ += loads.questions;
    timing_ns_ += loads.timing_ns;
    const auto view =
        process.number == 0 ? std::nullopt : std::optional(CodeView::of(process.target->pid()));
    MapResolver resolver(plan.map, modules_, view ? &*view : nullptr);
    for (const auto& load : loads.timed)
        table_.add_timed(resolver.resolve(load.pc), load.address, load.size_bytes, load.cycles);
    // Calls in progress are not known here.
    for (const auto& record : loads.probed)
        probed_.add(record, resolver.resolve(record.pc), std::nullopt);
    for (const auto& tally : loads.tallies) {
        // No more than there were accesses, whatever the worker says.
        const auto limited = [](std::uint64_t n) { return std::min(n, burst_limits.accesses); };
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
    if (!loads.worker_lost && !loads.worker_exhausted) return;
    kill(worker_->pid(), SIGKILL);
    hub_.discard(worker_->pid());
    worker_.reset();
}

void LatencyProfiler::fill(Profile& profile) const {
    std::optional<LatencyHost> host;
    if (questions_ != 0) {
        auto calibrated = calibrated_host(hub_);
        if (calibrated)
            host = std::move(calibrated->host);
        else
            profile.notes.push_back("load latencies have no levels: " + calibrated.error().message);
    }
    profile.latency = table_.loads(host.value_or(LatencyHost{}));
    profile.latency_host = std::move(host);
    const auto probed = probed_.profiles();
    for (std::size_t i = 0; i < std::min(probed.size(), profile.probes.size()); ++i)
        add(profile.probes[i], probed[i]);
    auto& counters = profile.sampling.counters;
    counters["latency_bursts"] = bursts_;
    counters["latency_bursts_migrated"] = migrated_;
    counters["latency_burst_ns"] = burst_ns_;
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
