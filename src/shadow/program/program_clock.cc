#include "shadow/program/program_clock.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "profile/merge/join.h"
#include "ptrace/proc/proc.h"
#include "shadow/program/thread_table.h"

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

// A short program's mappings are gone soon; a long one's ticks can wait.
constexpr ProgramClock::Clock::duration first_interval = 10ms, longest_interval = 200ms;
// Most clocks that are opened at once, and per second. Each takes some ten microseconds, and a
// program that starts threads all the time should not wait for us.
constexpr double max_openings = 200;
// How many of a process's threads are looked at when ticks are taken.
constexpr std::size_t max_run_observations = 4;
// Mappings are read again after this time, as they may change without a sign. Reading them takes
// longer the more there are.
constexpr ProgramClock::Clock::duration longest_map_age = 1s;
// A limit is needed since code that is made at run time may lie anywhere.
constexpr std::size_t max_code_places = 1 << 16;

}  // namespace

void ProgramClock::update(const ProcessTree& processes, Clock::time_point now) {
    if (looks_instead() && now >= looks_.next()) return look(processes, now);
    note_seen(now);
    forget_ended(processes, now);
    if (looks_instead()) return;
    next_take_ = now + longest_interval;
    for (const auto& [number, sampled] : processes.processes()) {
        const Target& target = *sampled.target;
        if (target.end() || target.is_detached()) continue;
        auto& process = processes_[number];
        if (target.is_let_go()) {
            if (now >= process.next_take) take(number, process, now);
            next_take_ = std::min(next_take_, process.next_take);
            continue;
        }
        const bool is_other_program = process.exec_count != target.exec_count();
        const bool is_changed = is_other_program || process.thread_count != target.thread_count();
        if (now >= process.next_take || is_changed) {
            take(number, process, now);
            if (is_other_program) process = {};
            watch_new(process, target, now);
            observe_runs(process);
        }
        next_take_ = std::min(next_take_, process.next_take);
    }
    if (looks_instead()) switch_to_looks(now);
}

// From now on threads are looked at, and the kernel's clock takes no time any more.
void ProgramClock::switch_to_looks(Clock::time_point now) {
    for (auto& [number, process] : processes_) {
        take(number, process, now);
        process.threads.clear();
    }
    next_take_ = looks_.next();
}

// Notes what is seen at the next call: now the program may be waiting for our processor.
void ProgramClock::look(const ProcessTree& processes, Clock::time_point now) {
    note_seen(now);
    seen_ = looks_.look(processes, now);
    next_take_ = looks_.next();
}

void ProgramClock::note_seen(Clock::time_point now) {
    for (const auto& each : std::exchange(seen_, {})) note_look(each, now);
}

void ProgramClock::note_look(const ThreadLooks::Seen& seen, Clock::time_point now) {
    if (seen.is_in_kernel) {
        ++in_kernel_.ticks;
        in_kernel_.time_ns += seen.time_ns;
        return;
    }
    auto& process = processes_[seen.process];
    if (process.pid != seen.pid || process.exec_count != seen.exec_count)
        process = {.pid = seen.pid, .exec_count = seen.exec_count};
    looks_in_code_ += note(process, seen, now);
}

// Looks at the threads in turns, as there may be many.
void ProgramClock::observe_runs(Process& process) {
    auto at = process.threads.upper_bound(process.last_observed);
    const auto observations = std::min(max_run_observations, process.threads.size());
    for (std::size_t i = 0; i < observations; ++i, ++at) {
        if (at == process.threads.end()) at = process.threads.begin();
        auto& [tid, watched] = *at;
        process.last_observed = tid;
        const auto runs = read_thread_runs(process.pid, tid);
        if (!runs) continue;
        const auto before = std::exchange(watched.last_runs, *runs);
        if (!before) continue;
        runs_.run_ns += runs->run_ns - std::min(runs->run_ns, before->run_ns);
        runs_.runs += runs->runs - std::min(runs->runs, before->runs);
    }
    const double allowed_ns =
        first_allowance_ns + max_share_of_runs * static_cast<double>(runs_.run_ns);
    is_too_dear_ = price_of_run_ns * static_cast<double>(runs_.runs) > allowed_ns;
}

void ProgramClock::forget_ended(const ProcessTree& processes, Clock::time_point now) {
    for (auto it = processes_.begin(); it != processes_.end();) {
        const bool lives = processes.processes().contains(it->first);
        if (!lives) take(it->first, it->second, now);
        it = lives ? std::next(it) : processes_.erase(it);
    }
}

void ProgramClock::end(Clock::time_point now) {
    note_seen(now);
    for (auto& [number, process] : processes_) take(number, process, now);
    processes_.clear();
    looks_.pause();
    next_take_ = now + longest_interval;
}

bool ProgramClock::may_open(Clock::time_point now) {
    if (openings_at_ == Clock::time_point{}) openings_ = max_openings;
    const double seconds = std::chrono::duration<double>(now - openings_at_).count();
    openings_ = std::min(max_openings, openings_ + seconds * max_openings);
    openings_at_ = now;
    if (openings_ < 1) return false;
    --openings_;
    return true;
}

// Tries threads that could not be watched again at each observation, as threads that end make room.
void ProgramClock::watch_new(Process& process, const Target& target, Clock::time_point now) {
    process.pid = target.pid();
    process.exec_count = target.exec_count();
    process.thread_count = target.thread_count();
    std::erase_if(process.threads,
                  [&](const auto& entry) { return !target.has_thread(entry.first); });
    std::uint64_t left_out = 0;
    for (const pid_t tid : target.thread_ids()) {
        if (process.threads.contains(tid)) continue;
        auto clock = may_open(now) ? TaskClock::open(tid, period)
                                   : Error{ErrorCode::interrupted, 0, "too many new threads"};
        if (clock) {
            process.threads.emplace(tid, Watched{std::move(*clock)});
            has_opened_ = true;
        } else if (clock.error().code != ErrorCode::gone) {
            ++left_out;
            if (!has_opened_ && clock.error().code != ErrorCode::interrupted) is_refused_ = true;
        }
    }
    threads_left_out_ = std::max(threads_left_out_, left_out);
}

void ProgramClock::take(std::uint64_t number, Process& process, Clock::time_point now) {
    process.take_interval =
        std::clamp<Clock::duration>(2 * process.take_interval, first_interval, longest_interval);
    process.next_take = now + process.take_interval;
    for (auto& [tid, watched] : process.threads) {
        watched.clock.take([&, id = tid](GuestAddress at) {
            clock_ticks_ += note(process,
                                 {.process = number,
                                  .pid = process.pid,
                                  .tid = id,
                                  .at = at,
                                  .time_ns = static_cast<std::uint64_t>(period.count())},
                                 now);
        });
        lost_ += watched.clock.lost() - std::exchange(watched.lost, watched.clock.lost());
    }
}

// The mappings of an ended process stay as they were last read. Returns false if the tick is lost.
bool ProgramClock::note(Process& process, const ThreadLooks::Seen& seen, Clock::time_point now) {
    const auto is_code = [](const Mapping* mapping) { return mapping && mapping->executable; };
    const auto* code = process.map.find(seen.at);
    const auto age = now - process.map_read;
    if (age > longest_map_age || (!is_code(code) && age > Clock::duration{})) {
        auto map = read_memory_map(process.pid);
        if (map && !map->mappings().empty()) process.map = std::move(*map);
        process.map_read = now;
        code = process.map.find(seen.at);
    }
    const auto view = seen.process == 0 ? std::nullopt : std::optional(CodeView::of(process.pid));
    MapResolver resolver(process.map, modules_, view ? &*view : nullptr);
    const auto location = is_code(code) ? std::optional(resolver.resolve(seen.at)) : std::nullopt;
    if (!location || (times_.size() >= max_code_places && !times_.contains(*location))) {
        ++lost_;
        return false;
    }
    auto& time = times_[*location];
    ++time.ticks;
    time.time_ns += seen.time_ns;
    note_thread(seen);
    return true;
}

void ProgramClock::note_thread(const ThreadLooks::Seen& seen) {
    const std::pair id(seen.pid, seen.tid);
    const bool has_room = by_thread_.size() < ThreadTable::max_threads || by_thread_.contains(id);
    auto& thread = by_thread_[has_room ? id : std::pair(seen.pid, pid_t{0})];
    ++thread.time.ticks;
    thread.time.time_ns += seen.time_ns;
    // A thread may change its name; most do so when they begin.
    if (!has_room || !std::has_single_bit(thread.time.ticks)) return;
    if (const auto name = read_thread_name(seen.pid, seen.tid)) thread.name = *name;
}

void ProgramClock::fill(Profile& profile) const {
    auto& counters = profile.sampling.counters;
    if (const auto looks = looks_in_code_ + in_kernel_.ticks; looks != 0) {
        counters["looks"] = looks;
        counters["looks_in_kernel"] = in_kernel_.ticks;
        counters["looks_in_kernel_ns"] = in_kernel_.time_ns;
        counters["looks_ready"] = looks_.ready();
    }
    if (!has_opened_ && times_.empty()) return;
    counters["clock_ticks_lost"] = lost_;
    counters["clock_threads_left_out"] = threads_left_out_;
    counters["clock_ticks"] = clock_ticks_;
    for (const auto& [at, time] : times_) profile.clock.push_back({at, time.ticks, time.time_ns});
    join_and_sort(profile.clock);
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
