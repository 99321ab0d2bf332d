#include "shadow/program/process_tree.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

constexpr unsigned max_idle_stops = 8;

SampledProcess* any_of(const std::vector<SampledProcess*>& processes, std::mt19937_64& random) {
    if (processes.empty()) return nullptr;
    return processes[std::uniform_int_distribution<std::size_t>(0, processes.size() - 1)(random)];
}

}  // namespace

ProcessTree::ProcessTree(WaitHub& hub, Target& first, Clock::time_point start,
                         std::vector<AttachedChild> children)
    : family_(hub, first, std::move(children)), log_(start), threads_(start) {
    auto& process = processes_[0];
    process.target = &first;
    process.known_exec_count = first.exec_count();
    log_.begin(0, first.pid(), std::nullopt,
               read_title(first.pid()).value_or(std::vector<std::string>{}), start);
    note_births(start);
}

void ProcessTree::update(Clock::time_point now) {
    family_.adopt_births();
    note_births(now);
    for (auto& [number, process] : processes_) {
        process.target->look_for_end();
        if (process.target->exec_count() != process.known_exec_count) note_exec(process);
    }
    std::erase_if(processes_, [&](const auto& entry) {
        const auto& [number, process] = entry;
        if (!process.target->end()) return false;
        log_.end(number, process.target->end(), now);
        if (number == 0) return false;
        note_threads(*process.target, now);
        family_.forget(number);
        return true;
    });
}

void ProcessTree::watch_syscalls(SyscallWatcher* watcher) {
    watcher_ = watcher;
    for (auto& [number, process] : processes_) process.target->watch_syscalls(watcher);
}

void ProcessTree::note_births(Clock::time_point now) {
    const auto& members = family_.members();
    for (auto it = members.lower_bound(next_number_); it != members.end(); ++it) {
        const auto number = it->first;
        const auto& member = it->second;
        const auto parent = std::find_if(processes_.begin(), processes_.end(), [&](auto& entry) {
            return entry.second.target->pid() == member.parent;
        });
        // A process that was just born executes its parent's program.
        std::vector<std::string> command;
        if (!member.target->is_born())
            command = read_title(member.target->pid()).value_or(std::move(command));
        else if (parent != processes_.end())
            command = log_.command(parent->first);
        processes_[number] = {.number = number, .target = member.target};
        member.target->watch_syscalls(watcher_);
        log_.begin(number, member.target->pid(),
                   member.parent ? std::optional(member.parent) : std::nullopt, command, now);
        next_number_ = number + 1;
    }
}

void ProcessTree::note_exec(SampledProcess& process) {
    const pid_t pid = process.target->pid();
    process.known_exec_count = process.target->exec_count();
    process.speeds = {};
    process.input_need = {};
    process.waiting_processor = {};
    process.idle_in_a_row = 0;
    log_.set_command(process.number, process.target->executed_command());
    if (process.number != 0) unprivileged_.note_exec(pid);
}

SampledProcess* ProcessTree::find(std::uint64_t number) {
    const auto it = processes_.find(number);
    if (it == processes_.end() || it->second.target->is_detached()) return nullptr;
    return &it->second;
}

Target* ProcessTree::traced(std::uint64_t number) const {
    const auto it = processes_.find(number);
    if (it == processes_.end()) return nullptr;
    Target* target = it->second.target;
    const bool is_traced = !target->end() && !target->is_detached() && !target->is_let_go();
    return is_traced ? target : nullptr;
}

SampledProcess* ProcessTree::find_unsupported() {
    for (auto& [number, process] : processes_)
        if (!process.target->is_supported() && !process.target->is_detached()) return &process;
    return nullptr;
}

bool SampledProcess::sleeps_on() const {
    return idle_in_a_row >= max_idle_stops && target->is_asleep();
}

Result<void> ProcessTree::detach(SampledProcess& process, Clock::time_point now) {
    const auto number = process.number;
    auto result = process.target->detach();
    update(now);  // it may have ended instead
    if (number == 0 || !processes_.contains(number)) return result;
    log_.end(number, std::nullopt, now);
    note_threads(*process.target, now);
    processes_.erase(number);
    family_.forget(number);
    return result;
}

Result<void> ProcessTree::detach_all(Target::Sleepers sleepers, Clock::time_point now) {
    update(now);
    std::erase_if(processes_, [&](const auto& entry) {
        if (entry.first == 0) return false;
        log_.end(entry.first, std::nullopt, now);
        note_threads(*entry.second.target, now);
        detached_ += first().end() ? 1 : 0;
        return true;
    });
    auto result = family_.detach(sleepers);
    log_.end(0, first().end(), now);
    return result;
}

bool ProcessTree::has_nothing_to_sample() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& entry) {
        return entry.second.target->is_detached() || entry.second.target->end();
    });
}

bool ProcessTree::is_candidate(const SampledProcess& process) {
    const Target& target = *process.target;
    return !target.end() && !target.is_detached() && !target.shares_memory();
}

std::size_t ProcessTree::candidates() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        processes_, [](const auto& entry) { return is_candidate(entry.second); }));
}

// A process that has not run since the last observation does not run now either, so that only the
// others need costly checks.
bool ProcessTree::ran_since_last_observation(SampledProcess& process) {
    const auto before = std::exchange(process.cpu_ns, read_cpu_ns(process.target->pid()));
    return process.cpu_ns != before;
}

std::vector<SampledProcess*> ProcessTree::candidate_list() {
    std::vector<SampledProcess*> list;
    for (auto& [number, process] : processes_)
        if (is_candidate(process)) list.push_back(&process);
    return list;
}

SampledProcess* ProcessTree::choose_any(std::mt19937_64& random) {
    return any_of(candidate_list(), random);
}

SampledProcess* ProcessTree::choose(std::mt19937_64& random, Clock::time_point now,
                                    std::optional<int> processor) {
    auto processes = candidate_list();
    if (processes.size() == 1) {
        running_ = 1;
        pace_ = sample_pace_.note(1, now);
        return processes.front();
    }
    std::erase_if(processes, [this](SampledProcess* process) {
        return !ran_since_last_observation(*process) || process->target->is_asleep();
    });
    running_ = processes.size();
    pace_ = sample_pace_.note(running_, now);
    if (!processor) return any_of(processes, random);
    auto ready = processes;
    std::erase_if(ready, [&](const SampledProcess* process) {
        return !process->target->is_ready_on(*processor);
    });
    return any_of(ready.empty() ? processes : ready, random);
}

void ProcessTree::note_threads(const Target& target, Clock::time_point now) {
    threads_.add(target.pid(), target.thread_lives(), now);
    threads_.add_left_out(target.thread_lives_left_out());
}

void ProcessTree::fill(Profile& profile, Clock::time_point now) const {
    log_.fill(profile, now);
    if (profile.timeline) {
        ThreadLog threads = threads_;
        for (const auto& [number, process] : processes_) {
            threads.add(process.target->pid(), process.target->thread_lives(), now);
            threads.add_left_out(process.target->thread_lives_left_out());
        }
        threads.fill(*profile.timeline);
    }
    if (detached_) profile.notes.push_back(note_of_outliving(detached_));
    unprivileged_.fill(profile.notes);
}

}  // namespace shadowprof
