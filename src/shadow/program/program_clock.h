// Notes where the threads of a run are each time that they have used some milliseconds of processor
// time, as counted by the kernel (ptrace/proc/task_clock.h). It has many times as many ticks as
// there are samples, so it tells the functions' and lines' shares of the time far more closely. But
// it knows nothing of what was executed.
//
// The kernel may refuse its clock, and it is too dear where threads are scheduled often. From then
// on the threads are looked at instead (thread_looks.h). What has ticked before stays, as both tell
// how much time each place stands for.
//
// Threads that live for less than a period have no ticks, nor have those that end before they are
// noticed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/memory_map.h"
#include "profile/code/module_table.h"
#include "profile/profile.h"
#include "ptrace/proc/proc.h"
#include "ptrace/proc/task_clock.h"
#include "shadow/program/process_tree.h"
#include "shadow/program/thread_looks.h"

namespace shadowprof {

class ProgramClock {
  public:
    using Clock = std::chrono::steady_clock;

    // A thread has a tick each time that it has used this much processor time. The period avoids
    // multiples of intervals that are common in programs. A tick takes up to 12.4 us, in virtual
    // machines (bench/task_clock.cc): 0.08% of the time.
    static constexpr std::chrono::nanoseconds period{14'987'003};
    // The kernel sets a timer whenever a thread is given a processor. That takes up to this long.
    static constexpr double price_of_run_ns = 3'500;
    // All these timers may take this share of the threads' time, and the allowance in addition.
    static constexpr double max_share_of_runs = 0.0011;
    static constexpr double first_allowance_ns = 5e6;

    // `modules` must outlive it. `looks`: not begun yet.
    ProgramClock(ModuleTable& modules, ThreadLooks looks)
        : modules_(modules), looks_(std::move(looks)) {}

    // Begins to watch threads that are new, and takes the ticks now and then. To be called often;
    // it takes no time if there is nothing to do.
    void update(const ProcessTree& processes, Clock::time_point now);
    // The time when update() has something to do again, unless a thread or a process begins before.
    Clock::time_point next_take() const { return next_take_; }
    // Takes the remaining ticks. No thread is watched until the next update().
    void end(Clock::time_point now);
    // Whether threads are looked at, by the next update() from next_take() on.
    bool looks_instead() const { return is_too_dear_ || is_refused_; }
    std::optional<pid_t> process_to_visit(const ProcessTree& processes) {
        return looks_.process_to_visit(processes);
    }
    // How long threads have stood still for looks.
    std::chrono::nanoseconds paused() const { return looks_.paused(); }

    // Adds the ticks so far, their time by thread, and counters.
    void fill(Profile& profile) const;

  private:
    struct Watched {
        TaskClock clock;
        std::uint64_t lost = 0;  // how many of TaskClock::lost() were counted
        std::optional<ThreadRuns> last_runs = {};
    };
    struct Process {
        pid_t pid = 0;
        std::uint64_t exec_count = 0;
        std::size_t thread_count = 0;  // at the last observation
        std::map<pid_t, Watched> threads;
        MemoryMap map;
        Clock::time_point map_read;
        pid_t last_observed = 0;  // the thread whose runs were looked at last
        Clock::duration take_interval{};
        Clock::time_point next_take;
    };
    struct Time {
        std::uint64_t ticks = 0;  // and looks
        std::uint64_t time_ns = 0;
    };
    struct ThreadTime {
        std::string name;
        Time time;
    };

    void forget_ended(const ProcessTree& processes, Clock::time_point now);
    void watch_new(Process& process, const Target& target, Clock::time_point now);
    void observe_runs(Process& process);
    bool may_open(Clock::time_point now);
    void take(std::uint64_t number, Process& process, Clock::time_point now);
    void look(const ProcessTree& processes, Clock::time_point now);
    void switch_to_looks(Clock::time_point now);
    void note_seen(Clock::time_point now);
    void note_look(const ThreadLooks::Seen& seen, Clock::time_point now);
    bool note(Process& process, const ThreadLooks::Seen& seen, Clock::time_point now);
    void note_thread(const ThreadLooks::Seen& seen);

    ModuleTable& modules_;
    std::map<std::uint64_t, Process> processes_;
    std::map<CodeLocation, Time> times_;
    std::map<std::pair<pid_t, pid_t>, ThreadTime> by_thread_;
    std::uint64_t clock_ticks_ = 0, looks_in_code_ = 0;  // that are in times_
    Time in_kernel_;                                     // by looks
    std::uint64_t lost_ = 0;              // for lack of room, or at an unknown address
    std::uint64_t threads_left_out_ = 0;  // too many at once, or the kernel refused
    ThreadRuns runs_;                     // sums over the threads whose runs were observed
    ThreadLooks looks_;
    std::vector<ThreadLooks::Seen> seen_;  // in the last look, not noted yet
    bool is_too_dear_ = false, is_refused_ = false;
    bool has_opened_ = false;
    double openings_ = 0;  // how many clocks may be opened now
    Clock::time_point openings_at_;
    Clock::time_point next_take_;
};

}  // namespace shadowprof
