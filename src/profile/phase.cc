#include "profile/phase.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "profile/join.h"
#include "profile/process_list.h"

namespace shadowprof {
namespace {

// Bounded tables forget: a later count may be smaller.
void take_off(std::uint64_t& count, std::uint64_t earlier) {
    count -= std::min(count, earlier);
}
void take_off(double& amount, double earlier) {
    amount = std::max(amount - earlier, 0.0);
}

template <typename Key, typename Count>
void take_off(std::map<Key, Count>& counts, const std::map<Key, Count>& earlier) {
    for (const auto& [key, count] : earlier)
        if (const auto it = counts.find(key); it != counts.end()) take_off(it->second, count);
    std::erase_if(counts, [](const auto& each) { return each.second == Count{}; });
}

void take_off(Edge& edge, const Edge& earlier) {
    take_off(edge.count, earlier.count);
}
void take_off(Path& path, const Path& earlier) {
    take_off(path.count, earlier.count);
}
void take_off(CallPair& call, const CallPair& earlier) {
    take_off(call.count, earlier.count);
}
void take_off(Stack& stack, const Stack& earlier) {
    take_off(stack.instructions, earlier.instructions);
    take_off(stack.samples, earlier.samples);
    take_off(stack.time_ns, earlier.time_ns);
    if (stack.time_ns == 0) stack.time_error_ns.reset();
}
void take_off(Hazard& hazard, const Hazard& earlier) {
    take_off(hazard.count, earlier.count);
    take_off(hazard.executions, earlier.executions);
}
void take_off(AddressMoves& moves, const AddressMoves& earlier) {
    take_off(moves.constant, earlier.constant);
    take_off(moves.chased, earlier.chased);
    take_off(moves.irregular, earlier.irregular);
    take_off(moves.strides, earlier.strides);
}
void take_off(ClockTicks& ticks, const ClockTicks& earlier) {
    take_off(ticks.ticks, earlier.ticks);
    take_off(ticks.time_ns, earlier.time_ns);
}
void take_off(AddressPattern& pattern, const AddressPattern& earlier) {
    take_off(pattern.moves, earlier.moves);
}
void take_off(LoadLatency& load, const LoadLatency& earlier) {
    take_off(load.timed, earlier.timed);
    take_off(load.reused, earlier.reused);
    take_off(load.line_crossings, earlier.line_crossings);
    take_off(load.page_crossings, earlier.page_crossings);
    take_off(load.histogram, earlier.histogram);
    take_off(load.levels, earlier.levels);
    take_off(load.lost_cycles, earlier.lost_cycles);
    take_off(load.moves, earlier.moves);
}
// A thread may have another name by now.
void take_off_threads(std::vector<ThreadProfile>& threads,
                      const std::vector<ThreadProfile>& earlier) {
    std::map<std::pair<std::int64_t, std::int64_t>, const ThreadProfile*> before;
    for (const ThreadProfile& thread : earlier) before[{thread.pid, thread.tid}] = &thread;
    for (ThreadProfile& thread : threads) {
        const auto it = before.find({thread.pid, thread.tid});
        if (it == before.end()) continue;
        take_off(thread.samples, it->second->samples);
        take_off(thread.instructions, it->second->instructions);
        take_off(thread.time_ns, it->second->time_ns);
    }
    std::erase_if(threads, [](const ThreadProfile& thread) {
        return thread.samples == 0 && thread.instructions == 0 && thread.time_ns == 0;
    });
    join_and_sort(threads);
}

// Values are estimated: of one that the earlier list does not name, as many as its bound may have
// been there before. What is not above its error is not known to have come since.
template <typename Top, typename Same>
void take_off_top(std::vector<Top>& top, const std::vector<Top>& earlier, double absent_error,
                  Same same) {
    for (Top& each : top) {
        const auto it = std::ranges::find_if(earlier, [&](const Top& e) { return same(e, each); });
        if (it != earlier.end()) take_off(each.count, it->count);
        each.error = std::hypot(each.error, it != earlier.end() ? it->error : absent_error);
    }
    std::erase_if(top, [](const Top& each) {
        return each.count == 0 || static_cast<double>(each.count) < each.error;
    });
    std::ranges::stable_sort(top, std::ranges::greater{}, &Top::count);
}

double largest_error(const std::vector<TopValue>& top) {
    double largest = 0;
    for (const TopValue& each : top) largest = std::max(largest, each.error);
    return largest;
}

// What a value may have had at most that the list does not name.
template <typename Values>
double absent_error(const Values& values) {
    return values.absent_error.value_or(largest_error(values.top));
}

template <typename Values>
void take_off_values(Values& values, const Values& earlier) {
    const double absent = std::hypot(absent_error(values), absent_error(earlier));
    take_off(values.count, earlier.count);
    take_off_top(values.top, earlier.top, absent_error(earlier),
                 [](const TopValue& a, const TopValue& b) { return a.value == b.value; });
    for (TopValue& each : values.top) each.count = std::min(each.count, values.count);
    values.absent_error = absent;
}
void take_off(CallerValues& values, const CallerValues& earlier) {
    take_off_values(values, earlier);
}

void take_off_list(auto& list, const auto& earlier);

void take_off(ValueProfile& values, const ValueProfile& earlier) {
    take_off_values(values, earlier);
    take_off_list(values.by_caller, earlier.by_caller);
}

bool is_empty(const auto& item) {
    return heat(item) == decltype(heat(item)){};
}
bool is_empty(const Stack& stack) {
    return stack.instructions == 0 && stack.samples == 0 && stack.time_ns == 0;
}
bool is_empty(const Hazard& hazard) {
    return hazard.count == 0;
}
bool is_empty(const ClockTicks& ticks) {
    return ticks.ticks == 0;
}

// Both lists have each item once.
void take_off_list(auto& list, const auto& earlier) {
    using Item = std::remove_cvref_t<decltype(list.front())>;
    std::vector<const Item*> sorted;
    for (const Item& item : earlier) sorted.push_back(&item);
    const auto less = [](const auto& a, const auto& b) { return identity(a) < identity(b); };
    std::ranges::sort(sorted, [&](const Item* a, const Item* b) { return less(*a, *b); });
    for (Item& item : list) {
        const auto it = std::ranges::lower_bound(
            sorted, item, less, [](const Item* each) -> const Item& { return *each; });
        if (it != sorted.end() && identity(**it) == identity(item)) take_off(item, **it);
    }
    std::erase_if(list, [](const Item& item) { return is_empty(item); });
    join_and_sort(list);
}

void take_off(ProbeEntry& entry, const ProbeEntry& earlier) {
    take_off(entry.count, earlier.count);
    entry.sum = wrapping_sum(entry.sum, -earlier.sum);
    take_off(entry.histogram, earlier.histogram);
    take_off_top(entry.top, earlier.top, earlier.absent_error,
                 [](const ProbeTop& a, const ProbeTop& b) { return a.value == b.value; });
    entry.absent_error = std::hypot(entry.absent_error, earlier.absent_error);
}

void take_off_probe(ProbeProfile& probe, const ProbeProfile& earlier) {
    take_off(probe.hits, earlier.hits);
    take_off(probe.missed, earlier.missed);
    take_off(probe.left_out, earlier.left_out);
    std::map<ProbeDatum, const ProbeEntry*> by_key;
    for (const ProbeEntry& entry : earlier.entries) by_key[entry.key] = &entry;
    for (ProbeEntry& entry : probe.entries)
        if (const auto it = by_key.find(entry.key); it != by_key.end())
            take_off(entry, *it->second);
    std::erase_if(probe.entries, [](const ProbeEntry& entry) { return entry.count == 0; });
    settle(probe);
}

void take_off_bursts(BurstStats& bursts, const BurstStats& earlier) {
    take_off(bursts.events_counted, earlier.events_counted);
    take_off(bursts.bursts, earlier.bursts);
    take_off(bursts.bursts_by_kind, earlier.bursts_by_kind);
    take_off(bursts.events_in_bursts, earlier.events_in_bursts);
}

// Changes are listed as they came.
void take_off_changes(SamplingStats& sampling, const SamplingStats& earlier) {
    const auto known = std::min(sampling.changes.size(), earlier.changes.size());
    sampling.changes.erase(sampling.changes.begin(),
                           sampling.changes.begin() + static_cast<std::ptrdiff_t>(known));
    take_off(sampling.changes_left_out, earlier.changes_left_out);
}

void take_off_sampling(SamplingStats& sampling, const SamplingStats& earlier) {
    take_off(sampling.samples, earlier.samples);
    take_off(sampling.instructions, earlier.instructions);
    take_off(sampling.emulation_seconds, earlier.emulation_seconds);
    take_off(sampling.ended, earlier.ended);
    take_off(sampling.single_stepped, earlier.single_stepped);
    for (auto& [name, count] : sampling.counters)
        if (const auto before = earlier.counters.find(name); before != earlier.counters.end())
            take_off(count, before->second);
    sampling.convergence.reset();
    if (sampling.bursts && earlier.bursts) take_off_bursts(*sampling.bursts, *earlier.bursts);
    take_off_changes(sampling, earlier);
}

void take_off_overhead(Overhead& overhead, const Overhead& earlier) {
    take_off(overhead.stops, earlier.stops);
    take_off(overhead.stopped_seconds, earlier.stopped_seconds);
    take_off(overhead.forks, earlier.forks);
    take_off(overhead.induced_faults, earlier.induced_faults);
    take_off(overhead.waited_seconds, earlier.waited_seconds);
    take_off(overhead.profiler_cpu_seconds, earlier.profiler_cpu_seconds);
}

OtherProcesses sum_of(const Profile& profile) {
    OtherProcesses sum = profile.other_processes;
    for (const ProcessInfo& process : profile.processes) {
        sum.samples += process.samples;
        sum.instructions += process.instructions;
    }
    return sum;
}

// Which processes are listed one by one changes, but not what all have together.
void take_off_processes(Profile& profile, const Profile& earlier) {
    const auto same = [](const ProcessInfo& a, const ProcessInfo& b) {
        return a.pid == b.pid && a.started_seconds == b.started_seconds;
    };
    OtherProcesses others = sum_of(profile);
    const OtherProcesses before = sum_of(earlier);
    take_off(others.samples, before.samples);
    take_off(others.instructions, before.instructions);
    for (ProcessInfo& process : profile.processes) {
        const auto it = std::ranges::find_if(
            earlier.processes, [&](const ProcessInfo& each) { return same(each, process); });
        if (it != earlier.processes.end()) {
            take_off(process.samples, it->samples);
            take_off(process.instructions, it->instructions);
            take_off(process.seconds, it->seconds);
        }
        process.samples = std::min(process.samples, others.samples);
        process.instructions = std::min(process.instructions, others.instructions);
        take_off(others.samples, process.samples);
        take_off(others.instructions, process.instructions);
    }
    take_off(others.count, before.count);
    profile.other_processes = others;
    std::erase_if(profile.processes, [](const ProcessInfo& process) {
        return process.samples == 0 && process.instructions == 0;
    });
    sort_and_shorten(profile.processes, profile.other_processes);
}

}  // namespace

std::string time_after(const std::string& time, double seconds) {
    std::tm parts = {};
    const char* rest = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest == nullptr) return time;
    const std::time_t moved = ::timegm(&parts) + static_cast<std::time_t>(seconds);
    char text[32];
    if (::gmtime_r(&moved, &parts) == nullptr ||
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        return time;
    return std::string(text) + rest;
}

Profile phase_between(Profile later, const Profile& earlier) {
    take_off_list(later.edges, earlier.edges);
    take_off_list(later.paths, earlier.paths);
    take_off_list(later.stacks, earlier.stacks);
    take_off_list(later.calls, earlier.calls);
    take_off_list(later.values, earlier.values);
    for (ValueProfile& values : later.values) values.top_tnv.clear();
    take_off_list(later.hazards, earlier.hazards);
    take_off_list(later.addresses, earlier.addresses);
    later.notes.clear();
    if (!later.streams.empty())
        later.notes.emplace_back("data streams are in the profile of the whole run alone");
    later.streams.clear();
    take_off_list(later.latency, earlier.latency);
    take_off_threads(later.threads, earlier.threads);
    take_off_list(later.clock, earlier.clock);
    const std::size_t probes = std::min(later.probes.size(), earlier.probes.size());
    for (std::size_t i = 0; i < probes; ++i) take_off_probe(later.probes[i], earlier.probes[i]);
    take_off_processes(later, earlier);
    take_off_sampling(later.sampling, earlier.sampling);
    take_off_overhead(later.overhead, earlier.overhead);
    take_off(later.syscalls.by_class, earlier.syscalls.by_class);
    take_off(later.syscalls.by_name, earlier.syscalls.by_name);
    later.run.started = time_after(later.run.started, earlier.run.seconds);
    take_off(later.run.seconds, earlier.run.seconds);
    return later;
}

}  // namespace shadowprof
