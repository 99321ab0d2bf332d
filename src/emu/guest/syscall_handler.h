// What the emulator asks of its surroundings when the guest calls the kernel or the vDSO.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/guest/guest_space.h"
#include "emu/guest/guest_threads.h"
#include "emu/guest/region_event.h"
#include "emu/guest/sample_end.h"

namespace shadowprof {

// Functions of the vDSO that are answered at their entry points: they read kernel pages that no
// snapshot can show.
enum class VdsoFunction : std::uint8_t { clock_gettime, gettimeofday, time, clock_getres, getcpu };

class SyscallHandler {
  public:
    virtual ~SyscallHandler() = default;

    // Whether the trace up to this call must have gone to the sink before the call is made. The
    // same registers as for on_syscall().
    virtual bool wants_trace(const CpuState&) const { return false; }
    // Called when the current thread has executed `syscall`. Number and arguments are in
    // threads.cpu() as the kernel would find them; rip is already behind the instruction, and rcx
    // and r11 are clobbered. Emulates the call: sets rax and memory and changes which threads run,
    // or returns why the thread or the sample ends. `elapsed_ns` is the guest time since the sample
    // began.
    virtual std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                                std::uint64_t elapsed_ns) = 0;

    // Called before each turn of a run with lasting threads. May wake threads, and waits for
    // something that wakes one if none runs. Returns why the run ends.
    virtual std::optional<SampleEnd> before_turn(GuestThreads&, GuestSpace&) {
        return std::nullopt;
    }

    // Called between two runs with the same threads: something else than this handler has given the
    // thread its registers, and this state. If it waited, it does not any more.
    virtual void on_moved(GuestThreads::Index, GuestThreads::State) {}

    // Called when the current thread has called a function of the vDSO (System V ABI). Sets rax and
    // memory; the emulator does the return.
    virtual std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads,
                                             GuestSpace& space, std::uint64_t elapsed_ns) = 0;

    // Called when a thread with these registers makes a request (decoder/client_request.h), in runs
    // with RunLimits::executes_nondeterministic. Sets rdx. Returns what the profiler has to do.
    virtual std::optional<RegionEvent> on_client_request(CpuState&, GuestSpace&) {
        return std::nullopt;
    }
};

// Answers nothing: the first call of the kernel or the vDSO ends the sample with `end`.
class EndAtCalls final : public SyscallHandler {
  public:
    explicit EndAtCalls(SampleEnd end) : end_(end) {}

    std::optional<SampleEnd> on_syscall(GuestThreads&, GuestSpace&, std::uint64_t) override {
        return end_;
    }
    std::optional<SampleEnd> on_vdso(VdsoFunction, GuestThreads&, GuestSpace&,
                                     std::uint64_t) override {
        return end_;
    }

  private:
    SampleEnd end_;
};

// The first call of the kernel or the vDSO ends a run with lasting threads, and is left to the next
// one.
class LeaveCalls final : public SyscallHandler {
  public:
    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace&,
                                        std::uint64_t) override {
        threads.put(threads.current(), threads.cpu(), GuestThreads::State::calls);
        return SampleEnd::stopped;
    }
    std::optional<SampleEnd> on_vdso(VdsoFunction, GuestThreads&, GuestSpace&,
                                     std::uint64_t) override {
        return SampleEnd::size;
    }
};

}  // namespace shadowprof
