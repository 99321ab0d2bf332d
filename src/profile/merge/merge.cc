#include "profile/merge/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text/numbered.h"
#include "profile/kinds/registry.h"
#include "profile/kinds/values/invariance.h"
#include "profile/merge/join.h"
#include "profile/merge/joint_modules.h"
#include "profile/merge/process_list.h"

namespace shadowprof {
namespace {

// Numbers of items in modules that their profile lacks.
struct LeftOut {
    std::size_t of_sum = 0, of_more = 0;

    LeftOut& operator+=(const LeftOut& other) {
        of_sum += other.of_sum;
        of_more += other.of_more;
        return *this;
    }
};

// Moves the locations of one profile to the common module numbers.
class Relocation {
  public:
    explicit Relocation(std::vector<std::uint32_t> numbers) : numbers_(std::move(numbers)) {}

    // Removes records that cannot be moved. Returns their number.
    template <typename Kind>
    std::size_t move_all(std::vector<typename Kind::Record>& records) {
        return keep_moved(records, [&](auto& record) {
            LocationVisitor visitor(*this);
            fields(visitor, record);
            if constexpr (requires { Kind::settle_moved(record); })
                if (moved_) Kind::settle_moved(record);
        });
    }

    // For LocationVisitor.
    void operator()(CodeLocation& location) { moved_ = renumber(location, numbers_) && moved_; }
    // Parts that cannot be moved are removed from their record, which keeps its total count.
    void take_parts(auto& parts, auto visit_part) {
        const bool moved = moved_;
        keep_moved(parts, visit_part);
        moved_ = moved;
    }

  private:
    // Keeps the items whose locations move() can all move. Returns the number of items removed.
    std::size_t keep_moved(auto& items, auto move) {
        auto kept = items.begin();
        for (auto item = items.begin(); item != items.end(); ++item) {
            moved_ = true;
            move(*item);
            if (!moved_) continue;
            if (kept != item) *kept = std::move(*item);
            ++kept;
        }
        const auto left_out = static_cast<std::size_t>(items.end() - kept);
        items.erase(kept, items.end());
        return left_out;
    }

    std::vector<std::uint32_t> numbers_;
    bool moved_ = true;  // all locations of the current item so far
};

class Relocations {
  public:
    // Replaces the modules of the sum by those of both profiles, sorted by their keys.
    Relocations(Profile& sum, const Profile& more) : of_sum_({}), of_more_({}) {
        JointModules joint;
        auto numbers_of_sum = joint.add(sum.modules), numbers_of_more = joint.add(more.modules);
        const auto sorted = joint.sort();
        for (auto* numbers : {&numbers_of_sum, &numbers_of_more})
            for (std::uint32_t& number : *numbers) number = sorted[number];
        of_sum_ = Relocation(std::move(numbers_of_sum));
        of_more_ = Relocation(std::move(numbers_of_more));
        sum.modules = joint.list();
    }

    template <typename Kind>
    LeftOut append(std::vector<typename Kind::Record>& sum,
                   std::vector<typename Kind::Record> more) {
        const LeftOut left_out{of_sum_.move_all<Kind>(sum), of_more_.move_all<Kind>(more)};
        sum.insert(sum.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
        join_and_sort(sum);
        return left_out;
    }

  private:
    Relocation of_sum_, of_more_;
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

// A profile without samples cannot disagree.
bool says_nothing_of_bursts(const SamplingStats& stats) {
    return stats.samples == 0 && !stats.bursts;
}

void add_bursts(SamplingStats& sum, const SamplingStats& more) {
    if (says_nothing_of_bursts(more)) return;
    if (says_nothing_of_bursts(sum)) {
        sum.bursts = more.bursts;
        return;
    }
    if (!sum.bursts && !more.bursts) return;
    const BurstStats b = more.bursts.value_or(BurstStats{});
    if (!sum.bursts) sum.bursts.emplace();
    BurstStats& a = *sum.bursts;
    if (a.every != b.every || a.events != b.events || a.lengths != b.lengths ||
        a.own_every != b.own_every) {
        a.every = 0;
        a.events.clear();
        a.lengths.clear();
        a.own_every.clear();
    }
    a.events_counted += b.events_counted;
    a.bursts += b.bursts;
    add_counts(a.bursts_by_kind, b.bursts_by_kind);
    add_counts(a.events_in_bursts, b.events_in_bursts);
}

void add_changes(SamplingStats& sum, const SamplingStats& more) {
    auto& changes = sum.changes;
    changes.insert(changes.end(), more.changes.begin(), more.changes.end());
    std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
        return std::tie(a.seconds, a.samples, a.what) < std::tie(b.seconds, b.samples, b.what);
    });
    sum.changes_left_out += more.changes_left_out;
    for (; changes.size() > max_sampling_changes; changes.pop_back()) ++sum.changes_left_out;
}

void add_sampling(SamplingStats& sum, const SamplingStats& more) {
    if (sum.mode.empty())
        sum.mode = more.mode;
    else if (!more.mode.empty() && sum.mode != more.mode)
        sum.mode = "mixed";
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

bool has_note(const Profile& profile, std::string_view note) {
    return std::ranges::count(profile.notes, note) != 0;
}

void add_note_once(Profile& profile, std::string note) {
    if (!has_note(profile, note)) profile.notes.push_back(std::move(note));
}

// Records of different machines or models are added up all the same. What is known of both is
// dropped, and a note says so, which also holds when the sum is merged again.
template <typename Kind>
void add_host(Profile& sum, const Profile& more) {
    const std::string note(Kind::unequal_hosts);
    auto& host = Kind::host_of(sum);
    const auto& other = Kind::host_of(more);
    if (!(has_note(sum, note) || has_note(more, note) || (host && other && host != other))) {
        if (!host) host = other;
        return;
    }
    host.reset();
    add_note_once(sum, note);
}

// An exact run counts every instruction and a sampled one a share, so the exact run outweighs the
// other. A note says so and stays in later sums.
constexpr std::string_view unequal_runs_note =
    "exact and sampled runs were added up: the exact ones outweigh the others, as they have every "
    "instruction and samples only a share";

void note_unequal_runs(Profile& sum, const Profile& more) {
    const auto is_exact = [](const Profile& p) { return p.sampling.mode == "exact"; };
    const bool both_known = !sum.sampling.mode.empty() && !more.sampling.mode.empty();
    if (both_known && is_exact(sum) != is_exact(more))
        add_note_once(sum, std::string(unequal_runs_note));
}

// Keeps a value that is equal in both, else resets it as unknown.
template <typename T>
void keep_common(T& sum, const T& more) {
    if (sum != more) sum = T{};
}

void add_run(RunInfo& sum, const RunInfo& more) {
    keep_common(sum.command, more.command);
    keep_common(sum.pid, more.pid);
    if (sum.started.empty() || (!more.started.empty() && more.started < sum.started))
        sum.started = more.started;
    sum.seconds += more.seconds;
    if (sum.exit_status != more.exit_status || sum.exit_signal != more.exit_signal) {
        sum.exit_status.reset();
        sum.exit_signal.reset();
    }
    keep_common(sum.seed, more.seed);
    std::erase_if(sum.options, [&](const auto& option) {
        const auto other = more.options.find(option.first);
        return other == more.options.end() || other->second != option.second;
    });
    keep_common(sum.cpu, more.cpu);
    keep_common(sum.kernel, more.kernel);
    keep_common(sum.cores, more.cores);
    sum.merged_runs += more.merged_runs;
}

void note_left_out(std::vector<std::string>& notes, std::size_t items) {
    if (items != 0)
        notes.push_back(fmt::format("{} named no module and {} left out", numbered(items, "item"),
                                    word_for(items, "was", "were")));
}

void add_notes(std::vector<std::string>& sum, const std::vector<std::string>& more) {
    sum.insert(sum.end(), more.begin(), more.end());
    std::sort(sum.begin(), sum.end());
    sum.erase(std::unique(sum.begin(), sum.end()), sum.end());
}

// Whether all that was sampled was looked at.
bool is_timed(const Profile& profile) {
    return profile.sampling.samples == 0 || profile.sampling.counters.contains("looks_lost");
}

// Clears all times, as times of a part would be taken for times of the whole.
void drop_times(Profile& profile) {
    profile.times.clear();
    for (Stack& stack : profile.stacks) stack.time_ns = 0;
    std::erase_if(profile.stacks, [](const Stack& stack) { return is_empty(stack); });
    join_and_sort(profile.stacks);
    for (ThreadProfile& thread : profile.threads) thread.time_ns = 0;
    join_and_sort(profile.threads);
    std::erase_if(profile.sampling.counters,
                  [](const auto& counter) { return counter.first.starts_with("looks"); });
}

// Two runs have no common clock.
void drop_timeline(Profile& sum, const Profile& more) {
    if (sum.timeline || more.timeline)
        sum.notes.emplace_back("the timeline is left out, as several runs have no common time");
    sum.timeline.reset();
}

}  // namespace

bool has_unequal_runs(const Profile& profile) {
    return has_note(profile, unequal_runs_note);
}

void add_exact(ExactStats& sum, const ExactStats& more) {
    sum.intervals += more.intervals;
    sum.diverged += more.diverged;
    sum.compared += more.compared;
    sum.pages_compared += more.pages_compared;
    sum.native_instructions += more.native_instructions;
    sum.signals += more.signals;
    add_counts(sum.boundaries, more.boundaries);
    add_counts(sum.excluded, more.excluded);
    if (sum.stopped_early.empty() ||
        (!more.stopped_early.empty() && more.stopped_early < sum.stopped_early))
        sum.stopped_early = more.stopped_early;
}

void merge_into(Profile& sum, const Profile& more) {
    drop_timeline(sum, more);
    const bool timed = is_timed(sum) && is_timed(more);
    Relocations relocations(sum, more);
    LeftOut left_out;
    for_each_kind([&]<typename Kind>() {
        left_out += relocations.append<Kind>(Kind::of(sum), Kind::of(more));
    });
    sum.function_batches = {};
    for_each_kind([&]<typename Kind>() {
        if constexpr (requires { Kind::host_name; }) add_host<Kind>(sum, more);
    });
    add_processes(sum, more);
    note_unequal_runs(sum, more);
    add_sampling(sum.sampling, more.sampling);
    add_overhead(sum.overhead, more.overhead);
    add_counts(sum.syscalls.by_class, more.syscalls.by_class);
    add_counts(sum.syscalls.by_name, more.syscalls.by_name);
    add_run(sum.run, more.run);
    if (!timed) drop_times(sum);
    state_invariance(sum);
    note_left_out(sum.notes, left_out.of_sum);
    note_left_out(sum.notes, left_out.of_more);
    add_notes(sum.notes, more.notes);
}

}  // namespace shadowprof
