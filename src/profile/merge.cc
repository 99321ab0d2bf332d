#include "profile/merge.h"

#include <fmt/format.h>

#include <optional>

#include "profile/hotlist.h"
#include "profile/join.h"
#include "profile/process_list.h"

namespace shadowprof {
namespace {

bool same_module(const Module& a, const Module& b) {
    if (!a.build_id.empty() && !b.build_id.empty()) return a.build_id == b.build_id;
    return a.path == b.path;
}

// Moves locations from the modules of one profile to those of another.
class Relocation {
  public:
    Relocation(std::vector<Module>& to, const std::vector<Module>& from) {
        for (const Module& module : from) {
            auto same = std::find_if(to.begin(), to.end(),
                                     [&](const Module& m) { return same_module(m, module); });
            if (same == to.end()) same = to.insert(to.end(), module);
            places_.push_back(static_cast<std::uint32_t>(same - to.begin()));
        }
    }
    bool move(CodeLocation& location) const {
        if (location.module >= places_.size()) return false;
        location.module = places_[location.module];
        return true;
    }
    bool move(std::vector<CodeLocation>& locations) const {
        return std::all_of(locations.begin(), locations.end(),
                           [&](CodeLocation& location) { return move(location); });
    }
    bool move(Edge& e) const { return move(e.from) && move(e.to); }
    bool move(Path& p) const { return move(p.blocks); }
    bool move(Stack& s) const { return move(s.frames); }
    bool move(CallPair& c) const { return move(c.site) && move(c.callee); }
    bool move(Method& m) const { return move(m.entry); }
    bool move(ValueProfile& v) const { return move(v.at); }
    bool move(LoadLatency& l) const { return move(l.at); }

    // Returns how many items were left out.
    template <typename T>
    std::size_t append(std::vector<T>& sum, const std::vector<T>& more) const {
        std::size_t left_out = 0;
        sum.reserve(sum.size() + more.size());
        for (T item : more) {
            if (move(item))
                sum.push_back(std::move(item));
            else
                ++left_out;
        }
        join_and_sort(sum);
        return left_out;
    }

  private:
    std::vector<std::uint32_t> places_;
};

void add_counts(std::map<std::string, std::uint64_t>& sum,
                const std::map<std::string, std::uint64_t>& more) {
    for (const auto& [name, count] : more) sum[name] += count;
}

void keep_worse(DurationStats& sum, const DurationStats& more) {
    sum.p50_us = std::max(sum.p50_us, more.p50_us);
    sum.p99_us = std::max(sum.p99_us, more.p99_us);
    sum.max_us = std::max(sum.max_us, more.max_us);
}

void add_exact(ExactStats& sum, const ExactStats& more) {
    sum.intervals += more.intervals;
    sum.diverged += more.diverged;
    sum.pages_compared += more.pages_compared;
    sum.native_instructions += more.native_instructions;
    sum.signals += more.signals;
    add_counts(sum.boundaries, more.boundaries);
    add_counts(sum.excluded, more.excluded);
    if (sum.stopped_early.empty()) sum.stopped_early = more.stopped_early;
}

void add_bursts(SamplingStats& sum, const SamplingStats& more) {
    if (!sum.bursts && !more.bursts) return;
    const BurstStats b = more.bursts.value_or(BurstStats{});
    const BurstStats a = sum.samples == 0 && !sum.bursts
                             ? BurstStats{b.every, b.events, b.lengths, 0, 0, {}}
                             : sum.bursts.value_or(BurstStats{});
    BurstStats& both = sum.bursts.emplace();
    if (a.every == b.every && a.events == b.events && a.lengths == b.lengths) {
        both.every = a.every;
        both.events = a.events;
        both.lengths = a.lengths;
    }
    both.events_counted = a.events_counted + b.events_counted;
    both.bursts = a.bursts + b.bursts;
    both.events_in_bursts = a.events_in_bursts;
    add_counts(both.events_in_bursts, b.events_in_bursts);
}

void add_changes(SamplingStats& sum, const SamplingStats& more) {
    const auto room = most_sampling_changes - std::min(most_sampling_changes, sum.changes.size());
    const auto taken = std::min(room, more.changes.size());
    sum.changes.insert(sum.changes.end(), more.changes.begin(),
                       more.changes.begin() + static_cast<std::ptrdiff_t>(taken));
    sum.changes_left_out += more.changes_left_out + (more.changes.size() - taken);
}

void add_sampling(SamplingStats& sum, const SamplingStats& more) {
    if (sum.mode != more.mode) sum.mode = "mixed";
    add_bursts(sum, more);
    sum.samples += more.samples;
    sum.instructions += more.instructions;
    sum.emulation_seconds += more.emulation_seconds;
    if (sum.target_instructions && more.target_instructions)
        *sum.target_instructions += *more.target_instructions;
    else
        sum.target_instructions.reset();
    sum.single_stepped += more.single_stepped;
    sum.convergence.reset();
    add_counts(sum.ended, more.ended);
    add_counts(sum.counters, more.counters);
    add_changes(sum, more);
    if (sum.exact && more.exact)
        add_exact(*sum.exact, *more.exact);
    else
        sum.exact.reset();
}

void add_overhead(Overhead& sum, const Overhead& more) {
    sum.stops += more.stops;
    sum.stopped_seconds += more.stopped_seconds;
    keep_worse(sum.pause, more.pause);
    sum.forks += more.forks;
    keep_worse(sum.fork, more.fork);
    sum.induced_faults += more.induced_faults;
    sum.waited_seconds += more.waited_seconds;
    sum.profiler_cpu_seconds += more.profiler_cpu_seconds;
    sum.budget_percent = std::max(sum.budget_percent, more.budget_percent);
    sum.estimated_slowdown_percent =
        std::max(sum.estimated_slowdown_percent, more.estimated_slowdown_percent);
}

void add_processes(Profile& sum, const Profile& more) {
    sum.processes.insert(sum.processes.end(), more.processes.begin(), more.processes.end());
    sum.other_processes.count += more.other_processes.count;
    sum.other_processes.samples += more.other_processes.samples;
    sum.other_processes.instructions += more.other_processes.instructions;
    sort_and_shorten(sum.processes, sum.other_processes);
}

// Loads of machines that differ keep the levels that they were found to be of; what these are is
// known of neither then.
void add_latency_host(Profile& sum, const Profile& more) {
    if (!more.latency_host) return;
    const bool is_first = sum.latency.size() == more.latency.size() && !sum.latency_host &&
                          sum.latency == more.latency;
    if (is_first || sum.latency_host == more.latency_host) {
        sum.latency_host = more.latency_host;
        return;
    }
    sum.latency_host.reset();
    const std::string note = "load latencies of different calibrations were added up";
    if (std::find(sum.notes.begin(), sum.notes.end(), note) == sum.notes.end())
        sum.notes.push_back(note);
}

using Bytes = std::vector<std::byte>;

// A bound on the count of values that a list does not name. The file holds the error e of those
// that it names; for counting samples the bound n follows from it: e = n - τ and n = ln 20 / -ln q,
// so n <= 1.502 e + 1 for every τ.
double absent_error(const std::vector<TopValue>& top) {
    double error = 0;
    for (const TopValue& value : top) error = std::max(error, value.error);
    return error == 0 ? 0 : 1.502 * error + 1;
}

ValueSummary<Bytes> summary_of(const std::vector<TopValue>& top) {
    ValueSummary<Bytes> summary;
    for (const TopValue& v : top)
        summary.top.push_back({v.value, static_cast<double>(v.count), v.error});
    summary.absent_error = absent_error(top);
    return summary;
}

std::vector<TopValue> add_tops(const std::vector<TopValue>& a, const std::vector<TopValue>& b) {
    ValueSummary<Bytes> sum = summary_of(a);
    add_summary(sum, summary_of(b));
    std::vector<TopValue> top;
    for (auto& estimate : sum.top)
        top.push_back({std::move(estimate.value), rounded_count(estimate.count), estimate.error});
    return top;
}

}  // namespace

void add(ValueProfile& sum, const ValueProfile& v) {
    sum.top = add_tops(sum.top, v.top);
    sum.top_tnv = add_tops(sum.top_tnv, v.top_tnv);
    sum.count += v.count;
    sum.invariance = 0;
    if (!sum.top.empty() && sum.count != 0)
        sum.invariance =
            std::min(1.0, static_cast<double>(sum.top[0].count) / static_cast<double>(sum.count));
}

void merge_into(Profile& sum, const Profile& more) {
    const Relocation relocation(sum.modules, more.modules);
    std::size_t left_out = relocation.append(sum.edges, more.edges);
    left_out += relocation.append(sum.paths, more.paths);
    left_out += relocation.append(sum.stacks, more.stacks);
    left_out += relocation.append(sum.calls, more.calls);
    sum.function_batches = {};
    left_out += relocation.append(sum.methods, more.methods);
    left_out += relocation.append(sum.values, more.values);
    left_out += relocation.append(sum.latency, more.latency);
    add_latency_host(sum, more);
    sum.threads.insert(sum.threads.end(), more.threads.begin(), more.threads.end());
    join_and_sort(sum.threads);
    add_processes(sum, more);
    add_sampling(sum.sampling, more.sampling);
    add_overhead(sum.overhead, more.overhead);
    add_counts(sum.syscalls.by_class, more.syscalls.by_class);
    add_counts(sum.syscalls.by_name, more.syscalls.by_name);
    sum.run.seconds += more.run.seconds;
    for (const std::string& note : more.notes)
        if (std::find(sum.notes.begin(), sum.notes.end(), note) == sum.notes.end())
            sum.notes.push_back(note);
    if (left_out != 0)
        sum.notes.push_back(fmt::format("{} items named no module and were left out", left_out));
}

}  // namespace shadowprof
