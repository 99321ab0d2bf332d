#include "shadow/looks/program_time.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

std::uint64_t kernel_place(const KernelEntry& entry) {
    switch (entry.cause) {
        case KernelEntry::Cause::system_call:
            return entry.system_call;
        case KernelEntry::Cause::page_fault:
            return page_fault_entry;
        case KernelEntry::Cause::interrupt:
            return interrupt_entry;
        case KernelEntry::Cause::unknown:
            break;
    }
    return unknown_call;
}

}  // namespace

void ProgramTime::update(const ProcessTree& processes, std::optional<int> here,
                         Clock::time_point now) {
    note_seen(now);
    // What was seen is noted at the next call: now the program may be waiting for our processor.
    if (now < looks_->next()) return;
    copied_stacks_.forget_ended(processes);
    seen_ = looks_->look(processes, here, now);
}

std::optional<int> ProgramTime::plan_look(const ProcessTree& processes, Clock::time_point now) {
    if (waits_) waits_->look(processes, now);
    return looks_->processor_to_visit(processes);
}

void ProgramTime::pause(const ProcessTree& processes, Clock::time_point now) {
    note_seen(now);
    seen_ = looks_->pause(processes, now);
    note_seen(now);
    if (waits_) waits_->pause(now);
    copied_stacks_.forget_all();
}

void ProgramTime::finish(const ProcessTree& processes, Clock::time_point now) {
    pause(processes, now);
    if (!pending_.empty()) kernel_entries_.wait();
    note_pending();
}

void ProgramTime::note_seen(Clock::time_point now) {
    for (auto& each : std::exchange(seen_, {})) {
        auto frames = frames_of(each, now);
        pending_.push_back({std::move(each), std::move(frames)});
    }
    note_pending();
    if (waits_) waits_->note(now);
}

// Those in the kernel stay pending until its symbols are read.
void ProgramTime::note_pending() {
    std::vector<NotedThread> still;
    for (auto& [seen, frames] : std::exchange(pending_, {})) {
        std::optional<KernelEntry> entry;
        if (!seen.kernel_calls.empty()) {
            entry = kernel_entries_.entry(seen.kernel_calls);
            if (!entry) {
                still.push_back({std::move(seen), std::move(frames)});
                continue;
            }
        } else if (seen.is_in_kernel()) {
            entry = seen.system_call
                        ? KernelEntry{KernelEntry::Cause::system_call, *seen.system_call}
                        : KernelEntry{};
        }
        note(seen, std::move(frames), entry);
    }
    pending_ = std::move(still);
}

void ProgramTime::note(const SeenThread& seen, Frames frames,
                       const std::optional<KernelEntry>& entry) {
    // Where a thread has entered the kernel by a call, that is a call like any other.
    using enum KernelEntry::Cause;
    const bool is_at_next = !entry || entry->cause == page_fault || entry->cause == interrupt;
    const std::size_t calls = frames.size() - (is_at_next && !frames.empty() ? 1 : 0);
    for (std::size_t i = 0; i < calls; ++i) frames[i] = call_site(frames[i]);
    if (entry) frames.push_back({modules_.add_kernel(), kernel_place(*entry)});
    if (frames.empty() || !add(std::move(frames), seen.time_ns)) {
        ++lost_;
        return;
    }
    ++all_.looks;
    all_.time_ns += seen.time_ns;
    if (entry) {
        ++in_kernel_.looks;
        in_kernel_.time_ns += seen.time_ns;
    }
    note_thread(seen, entry.has_value());
}

// Returns nothing if it is not known where the thread was.
ProgramTime::Frames ProgramTime::frames_of(const SeenThread& seen, Clock::time_point now) {
    if (!seen.cpu) return {};
    const CopiedStacks::Owner owner{seen.process, seen.pid, seen.exec_count};
    auto found = copied_stacks_.frames(owner, *seen.cpu, *seen.stack, now);
    if (found.is_cut) looks_->copy_more_of(seen);
    return std::move(found.list);
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

void ProgramTime::note_thread(const SeenThread& seen, bool is_in_kernel) {
    const std::pair id(seen.pid, seen.tid);
    const bool has_room = by_thread_.size() < ThreadTable::max_threads || by_thread_.contains(id);
    auto& thread = by_thread_[has_room ? id : std::pair(seen.pid, pid_t{0})];
    ++thread.time.looks;
    thread.time.time_ns += seen.time_ns;
    if (is_in_kernel) thread.in_kernel.time_ns += seen.time_ns;
    // A thread may change its name; most do so when they begin.
    if (!has_room || !std::has_single_bit(thread.time.looks)) return;
    if (const auto name = read_thread_name(seen.pid, seen.tid)) thread.name = *name;
}

// Stratified by whether a thread is in the kernel (Cochran, "Sampling Techniques", 5A.9): what
// looks have found too often there has its share of the time by the kernel. Not the other way
// round, as the kernel counts page faults as its own, which look like code of the program.
ProgramTime::Weights ProgramTime::weights() const {
    const auto share = looks_->max_kernel_share();
    const auto all = static_cast<double>(all_.time_ns);
    const auto in_kernel = static_cast<double>(in_kernel_.time_ns);
    if (!share || in_kernel <= *share * all || all_.time_ns == in_kernel_.time_ns) return {};
    return {*share * all / in_kernel, (1 - *share) * all / (all - in_kernel)};
}

std::uint64_t ProgramTime::Weights::weighed(std::uint64_t time_ns, bool is_in_kernel) const {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(time_ns) * (is_in_kernel ? kernel : program)));
}

void ProgramTime::fill(Profile& profile) const {
    const Weights weights = this->weights();
    auto& counters = profile.sampling.counters;
    counters["looks"] = all_.looks;
    counters["looks_in_kernel"] = in_kernel_.looks;
    counters["looks_in_kernel_ns"] = weights.weighed(in_kernel_.time_ns, true);
    counters["looks_found_in_kernel_ns"] = in_kernel_.time_ns;
    counters["looks_ready"] = looks_->ready();
    counters["looks_late"] = looks_->late();
    counters["looks_lost"] = lost_ + looks_->lost();
    counters["looks_by_clock"] = looks_->is_clock();
    if (waits_) waits_->fill(profile);
    std::optional<std::uint32_t> kernel;
    if (in_kernel_.looks != 0) kernel = modules_.add_kernel();
    for (const auto& [frames, time] : stacks_) {
        const CodeLocation at = frames.back();
        const auto time_ns = weights.weighed(time.time_ns, at.module == kernel);
        profile.looked_stacks.push_back({frames, time.looks, time_ns});
        profile.times.push_back({at, time.looks, time_ns});
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
        const auto in_kernel_ns = thread.in_kernel.time_ns;
        of_profile.time_ns = weights.weighed(in_kernel_ns, true) +
                             weights.weighed(thread.time.time_ns - in_kernel_ns, false);
    }
    join_and_sort(profile.threads);
}

}  // namespace shadowprof
