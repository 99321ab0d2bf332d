// Timers of processor time: setitimer(2) with ITIMER_VIRTUAL and ITIMER_PROF, timer_create(2) with
// a clock of processor time. The kernel's own would never fire, as the process takes no such time:
// its program is in the emulator. So the kernel's timers are created and deleted, but not armed.
#pragma once

#include <signal.h>
#include <sys/time.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/memory_reader.h"
#include "emu/guest/guest_time.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// Whether a clock is the processor time of a process or a thread.
bool is_processor_clock(std::int32_t clock);

// Times are the program's processor time in nanoseconds. It stands for that of each thread, too,
// and for that of other processes, whose clocks a timer may follow.
class ProcessorTimers {
  public:
    static constexpr std::int64_t never_ns = GuestTime::never_ns;
    static constexpr std::int64_t least_period_ns = 1'000'000;

    // A signal that is due, and the thread that must get it; 0: any of the process.
    struct Signal {
        siginfo_t info = {};
        pid_t thread = 0;
    };

    // Makes a call that asks for such a timer or arms it, at `now_ns`. Returns its result, as the
    // kernel would. Nothing if the kernel must make the call; note() then takes what it did.
    std::optional<std::int64_t> call(std::int64_t number, const CallArguments& arguments,
                                     WritableMemory& memory, std::int64_t now_ns);
    void note(std::int64_t number, const CallArguments& arguments, std::int64_t result,
              MemoryReader& memory);
    // When the next timer is due; never_ns if none is armed. Not sooner than least_period_ns after
    // others were taken: the kernel's timers are due at its ticks, every millisecond or less often.
    std::int64_t deadline_ns() const;
    // Winds the timers that are due on, and returns what they signal.
    std::vector<Signal> take_due(std::int64_t now_ns);
    // The process executes another program: that has its interval timers, but no others.
    void begin_program() { created_.clear(); }
    // The calls by which the kernel's own timers get the setting of these.
    struct ArmingCall {
        std::int64_t number;  // of setitimer or timer_settime
        std::uint64_t timer;
        std::array<std::int64_t, 4> times;  // struct itimerval or itimerspec
    };
    std::vector<ArmingCall> arming_calls() const;

  private:
    struct Timer {
        std::int64_t due_ns = never_ns, period_ns = 0;  // period 0: once

        void arm(std::int64_t first_ns, std::int64_t period, std::int64_t now_ns);
        bool is_due(std::int64_t now_ns) const { return due_ns <= now_ns; }
        // Returns how many times it was due beyond the first.
        std::uint64_t wind_on(std::int64_t now_ns);
        std::int64_t left_ns(std::int64_t now_ns) const;
    };
    struct Created : Timer {
        int notification = SIGEV_SIGNAL;
        int signal = SIGALRM;
        pid_t thread = 0;
        std::uint64_t value = 0;
        std::uint64_t overruns = 0;
    };

    // These return what the kernel returns.
    static std::int64_t get_interval(const Timer& timer, GuestAddress to, WritableMemory& memory,
                                     std::int64_t now_ns);
    static std::int64_t set_interval(Timer& timer, const CallArguments& arguments,
                                     WritableMemory& memory, std::int64_t now_ns);
    void note_created(const CallArguments& arguments, MemoryReader& memory);
    static std::int64_t get_time(Created& timer, GuestAddress to, WritableMemory& memory,
                                 std::int64_t now_ns);
    static std::int64_t set_time(Created& timer, const CallArguments& arguments,
                                 WritableMemory& memory, std::int64_t now_ns);
    std::optional<std::int64_t> call_created(std::int64_t number, const CallArguments& arguments,
                                             WritableMemory& memory, std::int64_t now_ns);

    std::array<Timer, 2> intervals_;           // ITIMER_VIRTUAL and ITIMER_PROF
    std::map<std::int32_t, Created> created_;  // by the kernel's number
    std::int64_t last_now_ns_ = 0;
    std::int64_t not_before_ns_ = 0;  // the next signal
};

}  // namespace shadowprof
