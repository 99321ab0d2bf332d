// The window of a sample: the stretch of the program's time that it stands for, how long that took
// the program itself, and the program's state at its end, which the emulation should reach.
//
// Samples begin at random moments. If all had equally many instructions, slow code would count too
// often. If each has what the program did in the same time, all executions are equally likely to be
// seen.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/watch/awaited_state.h"
#include "ptrace/process/target.h"
#include "shadow/window/state_copy.h"

namespace shadowprof {

// How much of the thread's processor time a window took.
struct WindowTime {
    // Without the time that faults and stops are likely to have taken. Nothing: that was too much
    // to say what is left.
    std::optional<double> seconds;
    double passed_seconds = 0;  // including faults and stops
    double faults = 0;          // induced faults
};

struct SampleWindow {
    AwaitedState end;  // the state at its end; it begins with the snapshot
    WindowTime time;
    // The end is sought within this many instructions after the snapshot.
    std::uint64_t max_instructions = 0;
    // The program may have executed more than max_instructions, as WindowLimits::max_instructions
    // is less than the fastest code does in this time. So an end that is not found says nothing.
    bool may_end_beyond = false;
};

// Limits of a window, for a program of a known speed. Times are the thread's.
struct WindowLimits {
    std::chrono::nanoseconds length{0};   // wanted; half of it is enough
    std::chrono::nanoseconds longest{0};  // at most
    // More than the program is likely to execute, per second and in all.
    double max_instructions_per_second = 0;
    std::uint64_t max_instructions = 0;
    // The thread's time that the stops at the window's begin and end take.
    double stop_seconds = 0;
    // How often the end is sought again when a stop for it came too early.
    unsigned max_retries = 3;
    StopLimits stop = {};
    bool has_other_threads = false;  // then the process's time is not the thread's
};

// How long windows of a process must be at least. After a fork, each page that the program writes
// to for the first time costs it more than hundreds of instructions, and some programs do little
// else for a while. The time of these faults is taken off a window, so it must not be most of it.
// Only earlier samples decide the length: if a window began, or ended, when its own faults have
// become few, code that writes to ever new pages would hardly be seen.
class FaultStorms {
  public:
    std::chrono::nanoseconds min_window() const;
    // Records how long induced faults took in a window.
    void observe(double fault_seconds);

  private:
    double seconds_ = 0;
    bool is_known_ = false;
};

// Finds the end of a window that begins with a snapshot.
class WindowWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // To be called at the end of the snapshot's stop. `fault_seconds` is the cost of an induced
    // fault by FaultPrice, or 0 if nothing was forked. `earlier` reads the program's pages as they
    // are in this stop. It must do so while the window is watched, unless start() replaces it.
    // `room` must outlive the watch, and nobody else may use it.
    static Result<WindowWatch> begin(pid_t pid, pid_t tid, const CpuState& cpu,
                                     const WindowLimits& limits, double fault_seconds,
                                     EarlierPages earlier, StateRoom& room);
    // The program goes on only now, and `earlier` replaces the earlier pages.
    void start(Clock::time_point now, EarlierPages earlier);

    Clock::time_point next_observation() const { return next_observation_; }
    struct Observed {
        bool goes_on = false;                                // observe() must be called again
        std::optional<std::chrono::nanoseconds> pause = {};  // length of the stop, if there was one
    };
    // Looks at the thread, and stops the process for a moment if its window may be over.
    Observed observe(Target& target, Clock::time_point now);
    // To be called after the last observe(). Whether there is no window because an observation came
    // too late. That depends on the machine and not on the program. Another sample is worth more
    // than one without a window.
    bool is_lost() const { return is_late_; }
    // To be called after the last observe(). Nothing: the thread went to sleep or ended, or an
    // observation came too late.
    std::optional<SampleWindow> take();

  private:
    // What the thread has used so far. Its time is the process's where the kernel does not tell
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
    Observed mark_end(Target& target, Clock::time_point now);
    std::chrono::nanoseconds since_begin(const Usage& now) const;

    pid_t pid_, tid_;
    WindowLimits limits_;
    double fault_seconds_;
    EarlierPages earlier_;
    StateRoom* room_;
    CpuState snapshot_;
    Usage begin_;
    double own_faults_per_second_ = 0;  // before the window, per second of the thread's time
    Clock::time_point give_up_, next_observation_;
    bool is_late_ = false;  // no end was found in time
    unsigned retries_ = 0;
    std::optional<Mark> end_;
};

}  // namespace shadowprof
