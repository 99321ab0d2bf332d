#include "shadow/looks/program_time.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "profile/code/kernel_calls.h"
#include "profile/kinds/stacks/stack_tree.h"
#include "profile/merge/join.h"
#include "ptrace/proc/proc.h"
#include "shadow/program/thread_table.h"

namespace shadowprof {
namespace {

// Of all stacks together; 64 MiB. Beyond, stacks are kept without callers.
constexpr std::size_t max_frames = 1 << 22;
// A limit is needed since code that is made at run time may lie anywhere.
constexpr std::size_t max_stacks = 1 << 18;

}  // namespace

void ProgramTime::update(const ProcessTree& processes, std::optional<int> here,
                         Clock::time_point now) {
    note_seen(now);
    // What was seen is noted at the next call: now the program may be waiting for our processor.
    if (now >= looks_.next()) {
        seen_ = looks_.look(processes, here, now);
        return;
    }
    copied_stacks_.forget_ended(processes);
}

std::optional<int> ProgramTime::plan_look(const ProcessTree& processes, Clock::time_point now) {
    if (waits_) waits_->look(processes, now);
    return looks_.processor_to_visit(processes);
}

void ProgramTime::pause(Clock::time_point now) {
    note_seen(now);
    if (waits_) waits_->pause(now);
    copied_stacks_.forget_all();
    looks_.pause();
}

void ProgramTime::note_seen(Clock::time_point now) {
    for (const auto& each : std::exchange(seen_, {})) note(each, now);
    if (waits_) waits_->note(now);
}

void ProgramTime::note(const ThreadLooks::Seen& seen, Clock::time_point now) {
    auto frames = frames_of(seen, now);
    if (frames.empty() || !add(std::move(frames), seen.time_ns)) {
        ++lost_;
        return;
    }
    ++all_.looks;
    all_.time_ns += seen.time_ns;
    if (seen.is_in_kernel()) {
        ++in_kernel_.looks;
        in_kernel_.time_ns += seen.time_ns;
    }
    note_thread(seen);
}

// Returns nothing if it is not known where the thread was.
ProgramTime::Frames ProgramTime::frames_of(const ThreadLooks::Seen& seen, Clock::time_point now) {
    Frames frames;
    if (seen.cpu) {
        const CopiedStacks::Owner owner{seen.process, seen.pid, seen.exec_count};
        auto found = copied_stacks_.frames(owner, *seen.cpu, *seen.stack, now);
        if (found.is_cut) looks_.copy_more_of(seen);
        frames = std::move(found.list);
    }
    const bool is_in_kernel = seen.is_in_kernel();
    if (frames.empty() && !is_in_kernel) return {};
    const std::size_t calls = frames.size() - (is_in_kernel ? 0 : 1);
    for (std::size_t i = 0; i < calls; ++i) frames[i] = call_site(frames[i]);
    if (is_in_kernel)
        frames.push_back({modules_.add_kernel(), seen.system_call.value_or(unknown_call)});
    return frames;
}

// Returns false if there is no room.
bool ProgramTime::add(Frames frames, std::uint64_t time_ns) {
    auto known = stacks_.find(frames);
    if (known == stacks_.end()) {
        if (frames_ + frames.size() > max_frames) frames = {frames.back()};
        if (stacks_.size() >= max_stacks && !stacks_.contains(frames)) return false;
        frames_ += frames.size();
        known = stacks_.try_emplace(std::move(frames)).first;
    }
    ++known->second.looks;
    known->second.time_ns += time_ns;
    return true;
}

void ProgramTime::note_thread(const ThreadLooks::Seen& seen) {
    const std::pair id(seen.pid, seen.tid);
    const bool has_room = by_thread_.size() < ThreadTable::max_threads || by_thread_.contains(id);
    auto& thread = by_thread_[has_room ? id : std::pair(seen.pid, pid_t{0})];
    ++thread.time.looks;
    thread.time.time_ns += seen.time_ns;
    // A thread may change its name; most do so when they begin.
    if (!has_room || !std::has_single_bit(thread.time.looks)) return;
    if (const auto name = read_thread_name(seen.pid, seen.tid)) thread.name = *name;
}

void ProgramTime::fill(Profile& profile) const {
    auto& counters = profile.sampling.counters;
    counters["looks"] = all_.looks;
    counters["looks_in_kernel"] = in_kernel_.looks;
    counters["looks_in_kernel_ns"] = in_kernel_.time_ns;
    counters["looks_ready"] = looks_.ready();
    counters["looks_late"] = looks_.late();
    counters["looks_lost"] = lost_;
    if (waits_) waits_->fill(profile);
    for (const auto& [frames, time] : stacks_) {
        profile.looked_stacks.push_back({frames, time.looks, time.time_ns});
        profile.times.push_back({frames.back(), time.looks, time.time_ns});
    }
    join_and_sort(profile.times);
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> rows;
    for (std::size_t i = 0; i < profile.threads.size(); ++i)
        rows[{profile.threads[i].pid, profile.threads[i].tid}] = i;
    for (const auto& [id, thread] : by_thread_) {
        const auto [row, is_new] = rows.try_emplace(id, profile.threads.size());
        if (is_new) profile.threads.push_back({.pid = id.first, .tid = id.second});
        auto& of_profile = profile.threads[row->second];
        // The thread may have been gone when one of the two names was read.
        if (of_profile.name.empty()) of_profile.name = thread.name;
        of_profile.time_ns = thread.time.time_ns;
    }
    join_and_sort(profile.threads);
}

}  // namespace shadowprof
