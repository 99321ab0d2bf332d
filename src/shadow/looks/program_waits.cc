#include "shadow/looks/program_waits.h"

#include <algorithm>
#include <iterator>

#include "profile/kinds/stacks/stack_tree.h"
#include "profile/merge/join.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

// Nearly all stacks are smaller.
constexpr std::size_t copied_bytes = std::size_t{64} << 10;
// A server may have a thread for each client. Beyond, all are looked at as for the first time.
constexpr std::size_t max_threads = 1 << 14;
// The list is bounded, since code that is made at run time may lie anywhere.
constexpr std::size_t max_waits = 1 << 14;
constexpr std::size_t max_callers = 64;
constexpr std::uint64_t syscall_bytes = 2;  // of the instruction

}  // namespace

void ProgramWaits::look(const ProcessTree& processes, Clock::time_point now) {
    const bool is_first = last_ == Clock::time_point{};
    const auto since = is_first ? Clock::duration{} : now - std::exchange(last_, now);
    last_ = now;
    seen_.clear();
    std::vector<ThreadId> all, asked;
    for (const auto& [number, process] : processes.processes())
        if (const Target* target = processes.traced(number))
            for (const pid_t tid : target->thread_ids()) all.emplace_back(number, tid);
    std::erase_if(threads_,
                  [&](const auto& each) { return !std::ranges::binary_search(all, each.first); });
    std::ranges::sample(all, std::back_inserter(asked), max_threads_asked, random_);
    if (asked.empty()) return;
    const auto expansion = static_cast<double>(all.size()) / static_cast<double>(asked.size());
    const auto time_ns = static_cast<std::uint64_t>(static_cast<double>(since.count()) * expansion);
    for (const ThreadId& id : asked) look_at(*processes.traced(id.first), id, time_ns);
}

// A thread that has not run since it was seen asleep sleeps on.
void ProgramWaits::look_at(Target& target, ThreadId id, std::uint64_t time_ns) {
    const ThreadRunsFile file(target.pid(), id.second);
    const auto before = file.read();
    if (!before) return;
    if (threads_.size() >= max_threads && !threads_.contains(id)) threads_.clear();
    Thread& thread = threads_[id];
    const auto last = std::exchange(thread.runs, before.value());
    if (last) ready_ns_ += before->wait_ns - std::min(before->wait_ns, last->wait_ns);
    if (thread.wait != nullptr && last && last->runs == before->runs) {
        ++thread.wait->looks;
        thread.wait->time_ns += time_ns;
        return;
    }
    thread.wait = nullptr;
    const auto sleep = target.sleep_of(id.second);
    if (!sleep) return;
    copies_[seen_.size()].take(target.pid(), sleep->stack_pointer, copied_bytes);
    const auto after = file.read();
    if (!after || after->runs != before->runs) return;
    seen_.push_back({id, {id.first, target.pid(), target.exec_count()}, *sleep, time_ns});
}

void ProgramWaits::note(Clock::time_point now) {
    for (std::size_t i = 0; i < seen_.size(); ++i) note(seen_[i], copies_[i], now);
    seen_.clear();
}

void ProgramWaits::note(const Seen& seen, const StackCopy& stack, Clock::time_point now) {
    CpuState registers;
    registers.rip = seen.sleep.program_counter;
    registers[Gpr::rsp] = seen.sleep.stack_pointer.value;
    auto frames = stacks_.frames(seen.owner, registers, stack, now).list;
    if (frames.empty()) {
        ++lost_;
        return;
    }
    CodeLocation at = frames.back();
    at.address -= syscall_bytes;
    frames.pop_back();
    std::ranges::reverse(frames);
    if (frames.size() > max_callers) frames.resize(max_callers);
    for (CodeLocation& each : frames) each = call_site(each);
    const auto thread_name = read_thread_name(seen.owner.pid, seen.id.second);
    Place place(syscall_name(seen.sleep.call.number), at, thread_name.value_or(""),
                std::move(frames));
    if (waits_.size() >= max_waits && !waits_.contains(place)) {
        ++lost_;
        return;
    }
    Time& time = waits_[std::move(place)];
    ++time.looks;
    time.time_ns += seen.time_ns;
    threads_[seen.id].wait = &time;
}

void ProgramWaits::pause(Clock::time_point now) {
    note(now);
    threads_.clear();
    last_ = {};
}

void ProgramWaits::fill(Profile& profile) const {
    auto& counters = profile.sampling.counters;
    counters["waits_ready_ns"] = ready_ns_;
    counters["waits_lost"] = lost_;
    for (const auto& [place, time] : waits_) {
        const auto& [call, at, thread, callers] = place;
        profile.waits.push_back({call, at, thread, callers, time.looks, time.time_ns});
    }
    join_and_sort(profile.waits);
}

}  // namespace shadowprof
