#include "ptrace/hardware_breakpoint.h"

#include <sys/user.h>

#include <cstddef>
#include <utility>

#include "ptrace/ptrace_call.h"

namespace shadowprof {
namespace {

// DR7: breakpoint 0 enabled for this thread, on execution.
constexpr std::uint64_t enable_first = 1;

Result<long> set_debug_register(pid_t tid, std::size_t number, std::uint64_t value) {
    return ptrace_call(PTRACE_POKEUSER, tid,
                       offsetof(struct user, u_debugreg) + number * sizeof(std::uint64_t), value,
                       "debug register");
}

}  // namespace

Result<HardwareBreakpoint> HardwareBreakpoint::set(const StoppedThread& thread,
                                                   GuestAddress address) {
    // The address may only change while the breakpoint is off.
    const pid_t tid = thread.tid();
    TRY(set_debug_register(tid, 7, 0));
    auto placed = set_debug_register(tid, 0, address.value);
    if (placed) placed = set_debug_register(tid, 7, enable_first);
    if (placed) return HardwareBreakpoint(tid);
    if (placed.error().code == ErrorCode::gone) return std::move(placed).error();
    return Error{ErrorCode::unsupported, placed.error().sys_errno,
                 "this machine has no debug registers to stop a program with"};
}

HardwareBreakpoint::HardwareBreakpoint(HardwareBreakpoint&& other) noexcept
    : tid_(std::exchange(other.tid_, 0)) {}

HardwareBreakpoint::~HardwareBreakpoint() {
    if (tid_) (void)set_debug_register(tid_, 7, 0);
}

}  // namespace shadowprof
