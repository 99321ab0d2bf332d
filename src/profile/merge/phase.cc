#include "profile/merge/phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <type_traits>

#include "profile/kinds/difference.h"
#include "profile/kinds/profile_kinds.h"
#include "profile/merge/join.h"
#include "profile/merge/process_list.h"

namespace shadowprof {
namespace {

void subtract_bursts(BurstStats& bursts, const BurstStats& earlier) {
    subtract(bursts.events_counted, earlier.events_counted);
    subtract(bursts.bursts, earlier.bursts);
    subtract(bursts.bursts_by_kind, earlier.bursts_by_kind);
    subtract(bursts.events_in_bursts, earlier.events_in_bursts);
}

// Changes are listed in the order in which they came.
void subtract_changes(SamplingStats& sampling, const SamplingStats& earlier) {
    const auto known = std::min(sampling.changes.size(), earlier.changes.size());
    sampling.changes.erase(sampling.changes.begin(),
                           sampling.changes.begin() + static_cast<std::ptrdiff_t>(known));
    subtract(sampling.changes_left_out, earlier.changes_left_out);
}

void subtract_sampling(SamplingStats& sampling, const SamplingStats& earlier) {
    subtract(sampling.samples, earlier.samples);
    subtract(sampling.instructions, earlier.instructions);
    subtract(sampling.emulation_seconds, earlier.emulation_seconds);
    subtract(sampling.ended, earlier.ended);
    subtract(sampling.single_stepped, earlier.single_stepped);
    for (auto& [name, count] : sampling.counters)
        if (const auto before = earlier.counters.find(name); before != earlier.counters.end())
            subtract(count, before->second);
    sampling.convergence.reset();
    if (sampling.bursts && earlier.bursts) subtract_bursts(*sampling.bursts, *earlier.bursts);
    subtract_changes(sampling, earlier);
}

void subtract_overhead(Overhead& overhead, const Overhead& earlier) {
    subtract(overhead.stops, earlier.stops);
    subtract(overhead.stopped_seconds, earlier.stopped_seconds);
    subtract(overhead.forks, earlier.forks);
    subtract(overhead.induced_faults, earlier.induced_faults);
    subtract(overhead.waited_seconds, earlier.waited_seconds);
    subtract(overhead.profiler_cpu_seconds, earlier.profiler_cpu_seconds);
}

OtherProcesses sum_of(const Profile& profile) {
    OtherProcesses sum = profile.other_processes;
    for (const ProcessInfo& process : profile.processes) {
        sum.samples += process.samples;
        sum.instructions += process.instructions;
    }
    return sum;
}

// The processes that are listed one by one may change, but not the sums over all.
void subtract_processes(Profile& profile, const Profile& earlier) {
    const auto same = [](const ProcessInfo& a, const ProcessInfo& b) {
        return a.pid == b.pid && a.started_seconds == b.started_seconds;
    };
    OtherProcesses others = sum_of(profile);
    const OtherProcesses before = sum_of(earlier);
    subtract(others.samples, before.samples);
    subtract(others.instructions, before.instructions);
    for (ProcessInfo& process : profile.processes) {
        const auto it = std::ranges::find_if(
            earlier.processes, [&](const ProcessInfo& each) { return same(each, process); });
        if (it != earlier.processes.end()) {
            subtract(process.samples, it->samples);
            subtract(process.instructions, it->instructions);
            subtract(process.seconds, it->seconds);
        }
        process.samples = std::min(process.samples, others.samples);
        process.instructions = std::min(process.instructions, others.instructions);
        subtract(others.samples, process.samples);
        subtract(others.instructions, process.instructions);
    }
    subtract(others.count, before.count);
    profile.other_processes = others;
    std::erase_if(profile.processes, [](const ProcessInfo& process) {
        return process.samples == 0 && process.instructions == 0;
    });
    sort_and_shorten(profile.processes, profile.other_processes);
}

// Subtracts as much of `earlier` as there is. The rest stays in `earlier`.
void take(Stack& stack, Stack& earlier) {
    const auto [instructions, samples, time_ns, folded] =
        std::array{stack.instructions, stack.samples, stack.time_ns, stack.folded};
    subtract(stack, earlier);
    earlier.instructions -= instructions - stack.instructions;
    earlier.samples -= samples - stack.samples;
    earlier.time_ns -= time_ns - stack.time_ns;
    earlier.folded -= std::min(earlier.folded, folded - stack.folded);
}

// Stacks may have been folded since the earlier profile was made. What is not in a stack any more
// is then in one with fewer calls.
void subtract_stacks(std::vector<Stack>& stacks, std::vector<Stack> earlier) {
    std::map<std::vector<CodeLocation>, Stack*> by_frames;
    for (Stack& stack : stacks) by_frames.emplace(stack.frames, &stack);
    for (Stack& left : earlier) {
        for (;;) {
            if (const auto it = by_frames.find(left.frames); it != by_frames.end())
                take(*it->second, left);
            if (is_empty(left) || left.frames.size() <= 1) break;
            left.frames.erase(left.frames.end() - 2);
        }
    }
    std::erase_if(stacks, [](const Stack& stack) { return is_empty(stack); });
    join_and_sort(stacks);
}

template <typename Kind>
void subtract_kind(Profile& later, const Profile& earlier) {
    auto& list = Kind::of(later);
    if constexpr (DerivedKind<Kind>) {
        return;
    } else if constexpr (requires { Kind::of_whole_run_alone; }) {
        if (!list.empty())
            later.notes.push_back(
                fmt::format("only the profile of the whole run has {}", Kind::of_whole_run_alone));
        list.clear();
    } else if constexpr (requires { Kind::subtract_all; }) {
        Kind::subtract_all(list, Kind::of(earlier));
    } else if constexpr (std::is_same_v<Kind, StackList>) {
        subtract_stacks(list, Kind::of(earlier));
    } else {
        subtract_list(list, Kind::of(earlier));
    }
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
    later.notes.clear();
    for_each_kind([&]<typename Kind>() { subtract_kind<Kind>(later, earlier); });
    subtract_processes(later, earlier);
    subtract_sampling(later.sampling, earlier.sampling);
    subtract_overhead(later.overhead, earlier.overhead);
    subtract(later.syscalls.by_class, earlier.syscalls.by_class);
    subtract(later.syscalls.by_name, earlier.syscalls.by_name);
    if (later.timeline && earlier.timeline)
        subtract(*later.timeline, *earlier.timeline,
                 static_cast<std::uint64_t>(std::max(earlier.run.seconds, 0.0) * 1e6));
    later.run.started = time_after(later.run.started, earlier.run.seconds);
    subtract(later.run.seconds, earlier.run.seconds);
    return later;
}

}  // namespace shadowprof
