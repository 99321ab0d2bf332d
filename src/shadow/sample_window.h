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

#include "emu/awaited_state.h"
#include "ptrace/target.h"
#include "shadow/state_copy.h"

namespace shadowprof {

struct SampleWindow {
    std::vector<AwaitedState> states;  // at its begin, unless that is the snapshot; at its end
    double seconds = 0;                // of the thread's processor time
};

// What a window may be, for a program of a known speed. Times are the thread's.
struct WindowLimits {
    std::chrono::nanoseconds length{0};        // at least
    std::chrono::nanoseconds longest{0};       // from the window's begin to its end, at most
    std::chrono::nanoseconds latest_begin{0};  // from the snapshot, where many faults are behind it
    // More than the program is likely to execute, in a second and in all.
    double most_instructions_per_second = 0;
    std::uint64_t most_instructions = 0;
};

// Finds a window behind a fork, in which each page that the program writes to for the first time
// costs it more than hundreds of instructions: it waits until these have become few.
class WindowWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // In the stop of the snapshot, at its end. `fault_seconds`: what a fault costs that the fork
    // induced. The replica must outlive it.
    static Result<WindowWatch> begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                     const WindowLimits& limits, double fault_seconds,
                                     pid_t replica_pid);

    Clock::time_point next_look() const { return next_look_; }
    struct Looked {
        bool goes_on = false;                                // there is more to wait for
        std::optional<std::chrono::nanoseconds> pause = {};  // of the stop, where there was one
    };
    // Looks, and stops the process for a moment where that is due.
    Looked look(Target& target, Clock::time_point now);
    // After that: there is no window because somebody looked too late, which depends on the machine
    // and not on the program. A sample without a window is worth less than another sample.
    bool is_lost() const { return is_late_ && !(storms_ && !has_begun_); }
    // After that. Nothing: the thread went to sleep, or faults behind the fork cost it too much for
    // too long, or somebody looked too late.
    std::optional<SampleWindow> take();
    // From the snapshot to the window's end, as the limits say. Needs that there is a window.
    std::uint64_t most_instructions() const;

  private:
    // What the thread has had until now; its time is the process's where the kernel does not tell
    // threads apart. While it runs, the time is as old as the kernel's last tick, but the faults
    // are of now.
    struct Usage {
        std::uint64_t cpu_ns = 0;
        std::uint64_t minor_faults = 0;
    };
    struct Mark {
        StateCopy copy;
        Usage usage;
    };

    WindowWatch(pid_t pid, pid_t tid, const CpuState& cpu, const WindowLimits& limits,
                double fault_seconds, pid_t replica_pid);
    std::optional<Usage> usage() const;
    std::optional<Mark> mark(Target& target, std::optional<std::chrono::nanoseconds>& pause);
    bool copy_state(ScopedStop& stop, Mark& made) const;
    Looked mark_begin(Target& target, Clock::time_point now);
    Looked mark_end(Target& target, Clock::time_point now);
    void begin_at(const Mark& mark, Clock::time_point now);
    double taken_by(std::uint64_t faults, std::chrono::duration<double> passed) const;
    bool is_quiet(std::uint64_t faults, std::chrono::duration<double> passed) const;
    bool may_still_end(const Usage& now) const;

    pid_t pid_, tid_;
    WindowLimits limits_;
    double fault_seconds_;
    pid_t replica_pid_;
    CpuState snapshot_;
    std::uint64_t began_cpu_ns_ = 0;    // at the snapshot
    double own_faults_per_second_ = 0;  // the same: in the thread's time until then
    Usage last_;                        // at the window's begin, as far as that is known
    Clock::time_point began_, last_look_;
    std::uint64_t faults_at_look_ = 0;
    Clock::time_point give_up_, next_look_;
    bool has_begun_ = false;  // the window has
    bool storms_ = false;     // there were many faults at a look
    bool is_late_ = false;    // there is no time left
    unsigned retries_ = 0;
    std::optional<Mark> begin_, end_;  // begin_: unless that is the snapshot
};

}  // namespace shadowprof
