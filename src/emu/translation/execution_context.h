// What translated code and the emulator share: guest state that is not in host registers, and what
// the host needs back when translated code leaves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu_state.h"
#include "emu/trace/trace.h"

namespace shadowprof {

// Why translated code was left. `ExecutionContext::exit_info` and `target` say more.
enum class ExitReason : std::uint32_t {
    direct_branch,  // exit_info: index of the exit whose target is not linked yet
    indirect_miss,  // target: guest address
    syscall,        // exit_info: block
    vdso_call,      // exit_info: the block at the function's entry
    single_step,    // exit_info: the block, whose only instruction cannot be translated
    fault,          // set by the signal handler: fault_host_rip
    trace_full,     // set by the signal handler: fault_host_rip, in the block about to run
    retired_block,  // exit_info: block that was invalidated and entered again
    instrumented,   // exit_info: the block about to run, whose first instruction is instrumented
    awaited,        // exit_info: index of the place at which a state is awaited
};

// Must lie within 2 GiB of all translated code, which addresses it relative to RIP.
struct ExecutionContext {
    alignas(64) std::byte xsave[CpuState::xsave_bytes];
    std::uint64_t gpr[16];  // guest registers, indexed by Gpr
    std::uint64_t rflags;
    std::uint64_t entry;     // host address to enter at
    std::uint64_t target;    // guest address of the last indirect branch
    std::uint64_t borrowed;  // guest register whose host register is lent
    std::uint64_t delta;     // host address = guest address + delta
    std::uint64_t negative_delta;
    std::uint64_t guest_fs;
    std::uint64_t host_guest_fs;  // guest_fs + delta: the base of FS while guest code runs
    std::uint64_t guest_gs;
    std::uint64_t trace_cursor;   // host RSP while guest code runs
    std::uint64_t flag_stack[2];  // where PUSHFQ and POPFQ put the flags
    std::uint64_t host_rsp;
    std::uint64_t host_fs;
    std::uint64_t fault_host_rip;
    ExitReason exit_reason;
    std::uint32_t exit_info;
    std::uint32_t host_mxcsr;
    std::uint16_t host_x87_control;
};

// Host registers that translated code uses for itself. The guest's RSP lives in host R9; its R9,
// R10 and R11 live in the context; host RSP is the trace cursor.
namespace host {
inline constexpr std::uint8_t guest_rsp = 9;
inline constexpr std::uint8_t scratch_a = 10;
inline constexpr std::uint8_t scratch_b = 11;
}  // namespace host

// Guest registers that live in the context while guest code runs.
constexpr bool lives_in_context(std::uint8_t guest_gpr) {
    return guest_gpr >= 9 && guest_gpr <= 11;
}

}  // namespace shadowprof
