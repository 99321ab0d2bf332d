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

#include "emu/watch/awaited_state.h"
#include "ptrace/target/target.h"
#include "shadow/window/state_copy.h"

namespace shadowprof {

// How much of the thread's processor time a window had.
struct WindowTime {
    // Without what faults and stops are likely to have taken; nothing: these took so much that
    // nobody knows what is left.
    std::optional<double> seconds;
    double passed_seconds = 0;  // with that
    double faults = 0;          // that the fork induced
};

struct SampleWindow {
    AwaitedState end;  // where it ends; it begins with the snapshot
    WindowTime time;
    // Its end is sought among so many instructions from the snapshot.
    std::uint64_t most_instructions = 0;
    // The program may have executed more (WindowLimits::most_instructions are fewer than the
    // fastest code does in this time), so an end that is not found says nothing.
    bool may_end_beyond = false;
};

// What a window may be, for a program of a known speed. Times are the thread's.
struct WindowLimits {
    std::chrono::nanoseconds length{0};   // at least
    std::chrono::nanoseconds longest{0};  // at most
    // More than the program is likely to execute, in a second and in all.
    double most_instructions_per_second = 0;
    std::uint64_t most_instructions = 0;
    // What the stops at its begin and its end take of the thread's time.
    double stop_seconds = 0;
    // Stops for an end that may turn out to be none.
    unsigned most_retries = 3;
    StopLimits stop = {};
    bool has_other_threads = false;  // whose time is not its
};

// How long windows of a process must be at least. Behind a fork each page that the program writes
// to for the first time costs it more than hundreds of instructions, and some programs do little
// else for a while. What that took is taken off a window, so it must not be most of it. It is known
// from earlier samples alone: if a window began, or ended, when its own faults have become few,
// code that writes to ever new pages would hardly be seen.
class FaultStorms {
  public:
    std::chrono::nanoseconds least_window() const;
    // In a window, faults that the fork induced took so long.
    void observe(double fault_seconds);

  private:
    double seconds_ = 0;
    bool is_known_ = false;
};

// Finds the end of a window that begins with a snapshot.
class WindowWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // In the stop of the snapshot, at its end. `fault_seconds`: what a fault costs that the fork
    // induced, by FaultPrice; 0 where nothing was forked. `earlier`: the program's pages as they
    // are in this stop, for as long as the window is watched, unless start() has them. `room` must
    // outlive the watch, and nobody else may use it.
    static Result<WindowWatch> begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                     const WindowLimits& limits, double fault_seconds,
                                     EarlierPages earlier, StateRoom& room);
    // The program goes on now, not when it was begun, and these are the earlier pages.
    void start(Clock::time_point now, EarlierPages earlier);

    Clock::time_point next_look() const { return next_look_; }
    struct Looked {
        bool goes_on = false;                                // there is more to wait for
        std::optional<std::chrono::nanoseconds> pause = {};  // of the stop, where there was one
    };
    // Looks, and stops the process for a moment where that is due.
    Looked look(Target& target, Clock::time_point now);
    // After that: there is no window because somebody looked too late, which depends on the machine
    // and not on the program. A sample without a window is worth less than another sample.
    bool is_lost() const { return is_late_; }
    // After that. Nothing: the thread went to sleep, or somebody looked too late.
    std::optional<SampleWindow> take();

  private:
    // What the thread has had until now; its time is the process's where the kernel does not tell
    // threads apart. While it runs, the time is as old as the kernel's last tick.
    struct Usage {
        std::uint64_t cpu_ns = 0;
        std::uint64_t minor_faults = 0;
    };
    struct Mark {
        StateCopy copy;
        Usage usage;
    };

    WindowWatch(pid_t pid, pid_t tid, const CpuState& cpu, const WindowLimits& limits,
                double fault_seconds, EarlierPages earlier, StateRoom& room);
    std::optional<Usage> usage() const;
    std::optional<Mark> mark(Target& target, std::optional<std::chrono::nanoseconds>& pause);
    bool copy_state(ScopedStop& stop, Mark& made) const;
    void start(Clock::time_point now);
    Looked mark_end(Target& target, Clock::time_point now);
    std::chrono::nanoseconds since_begin(const Usage& now) const;

    pid_t pid_, tid_;
    WindowLimits limits_;
    double fault_seconds_;
    EarlierPages earlier_;
    StateRoom* room_;
    CpuState snapshot_;
    Usage begin_;
    double own_faults_per_second_ = 0;  // until then, in the thread's time
    Clock::time_point give_up_, next_look_;
    bool is_late_ = false;  // there is no time left
    unsigned retries_ = 0;
    std::optional<Mark> end_;
};

}  // namespace shadowprof
