#include "shadow/program/program_time.h"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "profile/code/kernel_calls.h"
#include "profile/kinds/stacks/stack_tree.h"
#include "profile/merge/join.h"
#include "ptrace/proc/proc.h"
#include "ptrace/thread/process_memory.h"
#include "shadow/program/thread_table.h"

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

// Mappings are read again after this time, as they may change without a sign. Reading them takes
// longer the more there are.
constexpr ProgramTime::Clock::duration longest_map_age = 1s;
// Of all stacks together; 64 MiB. Beyond, stacks are kept without callers.
constexpr std::size_t max_frames = 1 << 22;
// A limit is needed since code that is made at run time may lie anywhere.
constexpr std::size_t max_stacks = 1 << 18;

bool is_code(const Mapping* mapping) {
    return mapping && mapping->executable;
}

}  // namespace

void ProgramTime::update(const ProcessTree& processes, std::optional<int> here,
                         Clock::time_point now) {
    note_seen(now);
    // What was seen is noted at the next call: now the program may be waiting for our processor.
    if (now >= looks_.next()) {
        seen_ = looks_.look(processes, here, now);
        return;
    }
    std::erase_if(processes_,
                  [&](const auto& each) { return !processes.processes().contains(each.first); });
}

void ProgramTime::pause(Clock::time_point now) {
    note_seen(now);
    processes_.clear();
    looks_.pause();
}

void ProgramTime::note_seen(Clock::time_point now) {
    for (const auto& each : std::exchange(seen_, {})) note(each, now);
}

void ProgramTime::note(const ThreadLooks::Seen& seen, Clock::time_point now) {
    auto frames = frames_of(process_of(seen, now), seen);
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

// The mappings of a process that has ended stay as they were last read.
ProgramTime::Process& ProgramTime::process_of(const ThreadLooks::Seen& seen,
                                              Clock::time_point now) {
    Process& process = processes_[seen.process];
    if (process.pid != seen.pid || process.exec_count != seen.exec_count)
        process = {.pid = seen.pid, .exec_count = seen.exec_count};
    if (!process.unwinder) {
        process.unwinder = std::make_unique<Unwinder>();
        if (auto memory = open_process_memory(seen.pid, O_RDONLY))
            process.memory = std::move(*memory);
    }
    if (seen.cpu) read_map(process, seen.cpu->rip, now);
    return process;
}

void ProgramTime::read_map(Process& process, GuestAddress at, Clock::time_point now) const {
    const auto age = now - process.map_read;
    const bool is_known = is_code(process.map.find(at));
    if (age <= longest_map_age && (is_known || age == Clock::duration{})) return;
    auto map = read_memory_map(process.pid);
    if (map && !map->mappings().empty()) process.map = std::move(*map);
    process.map_read = now;
}

// Returns nothing if it is not known where the thread was.
ProgramTime::Frames ProgramTime::frames_of(Process& process, const ThreadLooks::Seen& seen) {
    const CodeLocation kernel{seen.is_in_kernel() ? modules_.add_kernel() : 0,
                              seen.system_call.value_or(unknown_call)};
    if (!seen.cpu) return {kernel};
    if (!seen.is_in_kernel() && !is_code(process.map.find(seen.cpu->rip))) return {};
    const auto view = seen.process == 0 ? std::nullopt : std::optional(CodeView::of(process.pid));
    MapResolver resolver(process.map, modules_, view ? &*view : nullptr);
    const auto stack = unwind(process, seen);
    Frames frames;
    for (auto at = stack.rbegin(); at != stack.rend(); ++at)
        frames.push_back(resolver.resolve(*at));
    const std::size_t calls = seen.is_in_kernel() ? frames.size() : frames.size() - 1;
    for (std::size_t i = 0; i < calls; ++i) frames[i] = call_site(frames[i]);
    if (seen.is_in_kernel()) frames.push_back(kernel);
    return frames;
}

// The innermost first, at least where the thread is.
std::vector<GuestAddress> ProgramTime::unwind(Process& process, const ThreadLooks::Seen& seen) {
    CopiedStack memory(*seen.stack, process.map, process.memory.get());
    auto stack = process.unwinder->unwind(*seen.cpu, process.map, memory);
    if (memory.is_cut()) looks_.copy_more_of(seen);
    if (stack.empty()) stack = {seen.cpu->rip};
    return stack;
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
