// What the emulator asks of its surroundings when the guest calls the kernel or the vDSO.
#pragma once

#include <cstdint>
#include <optional>

#include "base/cpu_state.h"
#include "emu/guest_space.h"
#include "emu/sample_end.h"

namespace shadowprof {

// Functions of the vDSO that are answered at their entry points: they read kernel pages that no
// snapshot can show.
enum class VdsoFunction : std::uint8_t { clock_gettime, gettimeofday, time, clock_getres, getcpu };

class SyscallHandler {
  public:
    virtual ~SyscallHandler() = default;

    // The guest executed `syscall`: number and arguments are in `cpu` as the kernel would find
    // them; `cpu.rip` is already behind the instruction and rcx and r11 are already clobbered as
    // the instruction does. Emulates the call: sets rax (and memory), or says why the sample ends.
    // `elapsed_ns` is the guest time since the sample began.
    virtual std::optional<SampleEnd> on_syscall(CpuState& cpu, GuestSpace& space,
                                                std::uint64_t elapsed_ns) = 0;

    // The guest called a function of the vDSO with the arguments in `cpu` (System V ABI). Sets rax
    // and memory; the emulator does the return.
    virtual std::optional<SampleEnd> on_vdso(VdsoFunction function, CpuState& cpu,
                                             GuestSpace& space, std::uint64_t elapsed_ns) = 0;
};

}  // namespace shadowprof
