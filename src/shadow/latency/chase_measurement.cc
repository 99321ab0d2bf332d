#include "shadow/latency/chase_measurement.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "shadow/latency/load_timer.h"
#include "shadow/latency/session_processors.h"
#include "shadow/latency/timer_layout.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t stops_per_chase = 40;
constexpr int loads_per_stop = 32;
// The longest stop. Nobody waits for our own process; what takes longer waits for processors.
constexpr milliseconds stop_limit{100};
// Fewer stops tell too little about a level.
constexpr std::size_t min_stops = 16;
constexpr std::size_t min_quiet_stops = 8;
// The longest time of a load in a chase that fits into a cache.
constexpr nanoseconds slowest_load{40};
// How long the chase runs before a stop, so that what the last stop left in the caches is gone.
constexpr microseconds min_visit{500};

// The loads of one stop.
struct StopLoads {
    CycleHistogram cycles, repeated;
};

class ChaseMeasurement {
  public:
    ChaseMeasurement(WaitHub& hub, const ChaseMemory& memory, bool flushed, Clock::time_point until)
        : hub_(hub), memory_(memory), flushed_(flushed), until_(until) {}

    Result<ChaseLoads> run();

  private:
    Result<void> measure(Target& target);
    std::optional<std::uint64_t> runs_behind_visit(pid_t pid);
    Result<void> time_in_stop(Target& target, std::uint64_t runs);
    Result<void> time_loads(Target& target, StoppedThread& thread);
    void flush_from(GuestAddress line) const;
    ChaseLoads loads();

    WaitHub& hub_;
    const ChaseMemory& memory_;
    const bool flushed_;
    const Clock::time_point until_;
    std::optional<ScratchMemory> scratch_;
    std::vector<StopLoads> stops_;
    std::uint64_t timed_ = 0;
    nanoseconds timing_{0};
};

Result<ChaseLoads> ChaseMeasurement::run() {
    TRY_ASSIGN(const pid_t child, fork_chaser(memory_));
    Result<void> measured;
    {
        auto target = Target::attach(hub_, child);
        measured = target ? measure(**target) : Result<void>(target.error());
        kill(child, SIGKILL);
        (void)hub_.reap(child);
        if (target) (*target)->handle({child, WaitStatus::decode(SIGKILL)});
    }
    TRY(measured);
    if (stops_.size() < min_stops)
        return Error{
            ErrorCode::unsupported, 0,
            "the machine is too busy to be calibrated; shadowprof tries again in its next run"};
    return loads();
}

// The first stop maps the memory that the other stops need.
Result<void> ChaseMeasurement::measure(Target& target) {
    {
        TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::stop));
        TRY_ASSIGN(auto scratch, ScratchMemory::inject(stop, timer_code(), timer_data_bytes));
        scratch_.emplace(std::move(scratch));
    }
    while (stops_.size() < stops_per_chase && Clock::now() < until_) {
        const auto stat = read_proc_stat(target.pid());
        const SessionProcessors processors(stat ? stat->cpu : -1, 0);
        if (!processors.has_moved())
            return Error{ErrorCode::unsupported, 0,
                         "loads can be timed only where shadowprof may use two processors"};
        if (const auto runs = runs_behind_visit(target.pid())) TRY(time_in_stop(target, *runs));
    }
    return {};
}

// Returns how often the chase has been given a processor, if it has had one for a whole visit, else
// nothing. If the kernel does not count, the chase is taken to have had one.
std::optional<std::uint64_t> ChaseMeasurement::runs_behind_visit(pid_t pid) {
    const auto visit =
        flushed_ ? nanoseconds(min_visit)
                 : std::max<nanoseconds>(static_cast<std::int64_t>(memory_.lines()) * slowest_load,
                                         min_visit);
    const auto before = read_thread_runs(pid, pid);
    std::this_thread::sleep_for(visit);
    const auto after = read_thread_runs(pid, pid);
    if (!before || !after) return 0;
    if (before->runs != after->runs || read_thread_state(pid, pid).value_or('X') != 'R')
        return std::nullopt;
    return after->runs;
}

Result<void> ChaseMeasurement::time_in_stop(Target& target, std::uint64_t runs) {
    TRY_ASSIGN(auto stop, target.stop(Target::Sleepers::stop));
    if (stop.threads().empty()) return {};
    const auto now = read_thread_runs(target.pid(), target.pid());
    if (now && now->runs != runs) return {};
    return time_loads(target, stop.threads().front());
}

void ChaseMeasurement::flush_from(GuestAddress line) const {
    for (int i = 0; i < loads_per_stop; ++i) {
        memory_.flush(line);
        line = memory_.next(line);
    }
}

Result<void> ChaseMeasurement::time_loads(Target& target, StoppedThread& thread) {
    TRY_ASSIGN(const auto registers, thread.registers());
    GuestAddress address{registers.rax};
    if (!memory_.contains(address)) return {};
    const auto stat = read_thread_stat(thread.tid(), thread.tid());
    if (flushed_) flush_from(address);
    TRY_ASSIGN(auto session, LoadTimer::begin(thread, *scratch_, stop_limit));
    const auto until = target.stop_began() + stop_limit;
    const GuestAddress own = scratch_->data() + TIMER_ANSWER;
    const auto first = session.time(own, own, until);
    const auto now = read_thread_stat(thread.tid(), thread.tid());
    const bool stayed = first && *first && stat && now && now->cpu == stat->cpu;
    StopLoads seen;
    int timed = 0;
    for (; stayed && timed < loads_per_stop; ++timed) {
        const auto start = Clock::now();
        const auto once = session.time(address, address, until);
        const auto taken = Clock::now() - start;
        if (!once || !*once || taken > longest_answer) break;
        const auto again = session.time(address, address, until);
        if (!again || !*again) break;
        ++seen.cycles[(*once)->cycles];
        ++seen.repeated[(*again)->cycles];
        timing_ += taken;
        address = memory_.next(address);
    }
    timed_ += static_cast<std::uint64_t>(timed);
    if (timed == loads_per_stop) stops_.push_back(std::move(seen));
    return session.finish();
}

ChaseLoads ChaseMeasurement::loads() {
    std::ranges::sort(stops_, {}, [](const StopLoads& stop) { return median(stop.cycles); });
    ChaseLoads result;
    for (std::size_t i = 0; i < std::max(stops_.size() / 4, min_quiet_stops); ++i) {
        for (const auto& [cycles, count] : stops_[i].cycles) result.cycles[cycles] += count;
        for (const auto& [cycles, count] : stops_[i].repeated) result.repeated[cycles] += count;
    }
    result.load_us = std::chrono::duration<double, std::micro>(timing_).count() /
                     static_cast<double>(std::max<std::uint64_t>(timed_, 1));
    return result;
}

}  // namespace

Result<ChaseLoads> measure_chase(WaitHub& hub, const ChaseMemory& memory, bool flushed,
                                 Clock::time_point until) {
    return ChaseMeasurement(hub, memory, flushed, until).run();
}

}  // namespace shadowprof
