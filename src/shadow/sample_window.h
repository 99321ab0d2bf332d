// The stretch of the program's time that a sample stands for: how long it took the program itself,
// and the state in which that stood at its end, which the emulation is to come by.
//
// Samples begin at random moments of time. If each had as many instructions as the others, slow
// code would count too often; if each has what the program did in the same time, all of its
// executions are as likely to be seen.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "emu/awaited_state.h"
#include "ptrace/target.h"

namespace shadowprof {

struct SampleWindow {
    std::vector<AwaitedState> states;  // at its begin, unless that is the snapshot; at its end
    double seconds = 0;                // of the thread's processor time
};

// Finds a window behind a fork, in which each page that the program writes to for the first time
// costs it more than hundreds of instructions: it waits until these have become few.
class WindowWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // In the stop of the snapshot, at its end. `length`: of the window, in the thread's time, at
    // least; `fault_seconds`: what a fault costs that the fork induced.
    static Result<WindowWatch> begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                     std::chrono::nanoseconds length, double fault_seconds);

    Clock::time_point next_look() const { return next_look_; }
    // Looks, and stops the process for a moment where that is due; `pauses` are added to. False:
    // there is nothing more to wait for.
    bool look(Target& target, Clock::time_point now, std::vector<std::chrono::nanoseconds>& pauses);
    // After that. Nothing: the thread went to sleep, or forks cost it too much for too long.
    std::optional<SampleWindow> take();
    // More than any processor executes from the snapshot to the window's end. Needs that there is
    // a window.
    std::uint64_t most_instructions() const;

  private:
    // What the thread has had until now.
    struct Usage {
        std::int64_t cpu_ns = 0;
        std::uint64_t minor_faults = 0;
    };
    struct Mark {
        AwaitedState state;
        Usage usage;
    };

    WindowWatch(pid_t pid, pid_t tid, const CpuState& cpu, std::chrono::nanoseconds length,
                double fault_seconds);
    bool open_memory();
    std::optional<Usage> usage() const;
    std::optional<Mark> mark(Target& target, std::vector<std::chrono::nanoseconds>& pauses);
    bool mark_end(Target& target, std::vector<std::chrono::nanoseconds>& pauses);
    void read_memory(AwaitedState& state) const;
    bool is_quiet(const Usage& now) const;

    pid_t pid_, tid_;
    std::chrono::nanoseconds length_;
    double fault_seconds_;
    UniqueFd memory_;
    CpuState last_cpu_;              // of the snapshot or the last mark
    std::int64_t began_cpu_ns_ = 0;  // at the snapshot
    Usage last_;                     // at the last look, or at the window's begin
    Clock::time_point give_up_, next_look_;
    bool has_begun_ = false;           // the window has
    bool storms_ = false;              // there were many faults at a look
    std::optional<Mark> begin_, end_;  // begin_: unless that is the snapshot
};

}  // namespace shadowprof
