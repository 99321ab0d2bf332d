// Conversions between the kernel's register sets and CpuState.
#pragma once

#include <sys/user.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cpu_state.h"
#include "base/result.h"

namespace shadowprof {

// While this bit of RFLAGS is set, each instruction raises SIGTRAP.
inline constexpr std::uint64_t trap_flag = 0x100;
// The value of orig_rax in a thread that is in no system call, so that none is restarted.
inline constexpr std::uint64_t no_syscall = ~std::uint64_t{0};
// The blocked signals of a thread that makes injected calls: all but SIGSYS, because a seccomp
// filter's SIGSYS kills a thread that blocks it.
inline constexpr std::uint64_t injected_call_mask = ~(std::uint64_t{1} << (SIGSYS - 1));
// Leaf functions may use this much below the stack pointer (System V ABI, section 3.2.2).
inline constexpr std::uint64_t red_zone_bytes = 128;
// More than the size of any NT_X86_XSTATE register set in use.
inline constexpr std::size_t max_xstate_bytes = 16384;

// Copies general registers, rip, rflags and segment bases. Leaves the extended state alone.
void load_general(CpuState& to, const user_regs_struct& from);
// Overwrites the registers that CpuState has. Leaves segments and orig_rax alone.
void store_general(const CpuState& from, user_regs_struct& to);

// `regset` is NT_X86_XSTATE as PTRACE_GETREGSET returns it. Components that the header marks as
// being in their initial state get its bytes, so that equal states have equal bytes. XSTATE_BV
// stays as it was, masked to CpuState::xsave_components (Intel SDM vol. 1, 13.4 and 13.6). Errors:
// invalid (too short); unsupported (this machine puts a component beyond xsave_bytes).
Result<void> load_extended(CpuState& to, std::span<const std::byte> regset);
// Overwrites those components in a register set from the kernel. Leaves others alone.
Result<void> store_extended(const CpuState& from, std::span<std::byte> regset);

// Returns the number of the system call that a thread stopped with these registers is blocked in.
// The call was interrupted and is restarted when the thread is resumed. Nothing for a thread in
// user mode.
std::optional<std::uint64_t> blocked_syscall(const user_regs_struct& registers);

}  // namespace shadowprof
