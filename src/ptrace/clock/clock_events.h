// The kernel's clock of each processor: at regular times it notes where the thread is that runs
// there (perf_event_open(2): PERF_COUNT_SW_CPU_CLOCK). Nobody is stopped, and it takes the same
// time however often threads are scheduled. All programs of the machine are seen, which needs
// CAP_PERFMON, or 0 or less in kernel.perf_event_paranoid.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/cpu_state.h"
#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// A tick of the clock. Its parts are valid only in the call that shows it.
class ClockEvent {
  public:
    pid_t pid = 0, tid = 0;  // as our namespace of processes numbers them
    std::chrono::steady_clock::time_point time;
    std::chrono::nanoseconds period{0};         // between two ticks
    std::span<const std::byte> kernel_calls;    // 64-bit addresses, innermost first
    std::span<const std::byte> user_registers;  // empty for threads of the kernel
    std::span<const std::byte> stack;           // from the stack pointer on

    bool is_in_kernel() const { return !kernel_calls.empty(); }
    // The addresses of kernel_calls, the outermost first, at most `most`.
    std::vector<std::uint64_t> outer_kernel_calls(std::size_t most) const;
    // General registers of the program. In a system call, the program counter is behind its
    // instruction, and RAX is not known.
    CpuState cpu_state() const;
};

class ClockEvents {
  public:
    // What a record has of a stack, at most.
    static constexpr std::size_t stack_bytes = std::size_t{32} << 10;

    // Makes clocks for all processors that are online, which do not run yet. Errors: permission;
    // system; unsupported.
    static Result<ClockEvents> open(std::chrono::nanoseconds period);
    ~ClockEvents();
    ClockEvents(ClockEvents&&) noexcept;
    ClockEvents& operator=(ClockEvents&&) = delete;

    // Passes on all ticks since the last call, those of each processor in their order. Returns how
    // many were lost for lack of room: half a second of ticks has room.
    std::uint64_t read(const std::function<void(const ClockEvent&)>& note);
    // A new period for one of the processors, in turn. If periods differ and change now and then,
    // no program keeps in step with the clock.
    void change_period(std::chrono::nanoseconds period);
    // Starts the clocks, or stops them.
    void run(bool runs);

    std::size_t processors() const;

  private:
    struct Clock;

    explicit ClockEvents(std::vector<Clock> clocks);

    std::vector<Clock> clocks_;
    std::size_t next_to_change_ = 0;
    std::vector<std::byte> whole_;  // a record that goes on at the ring's beginning
};

}  // namespace shadowprof
