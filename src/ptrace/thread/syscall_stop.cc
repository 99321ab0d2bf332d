#include "ptrace/thread/syscall_stop.h"

#include <linux/audit.h>

#include <algorithm>

#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

// ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND and ERESTART_RESTARTBLOCK of the kernel's errno.h.
constexpr std::int64_t restart_results[] = {-512, -513, -514, -516};

}  // namespace

bool SyscallStop::restarts() const {
    return std::find(std::begin(restart_results), std::end(restart_results), result) !=
           std::end(restart_results);
}

Result<SyscallStop> read_syscall_stop(const StoppedThread& thread) {
    struct __ptrace_syscall_info info {};
    TRY(ptrace_call(PTRACE_GET_SYSCALL_INFO, thread.tid(), sizeof info, &info,
                    "read the system call of a thread"));
    const bool is_entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
    if ((!is_entry && info.op != PTRACE_SYSCALL_INFO_EXIT) || info.arch != AUDIT_ARCH_X86_64)
        return Error{ErrorCode::unsupported, 0,
                     "the program made a system call that is not one of x86-64 (as by int 0x80)"};
    SyscallStop stop{.is_entry = is_entry,
                     .instruction_end = {info.instruction_pointer},
                     .stack = {info.stack_pointer}};
    if (is_entry) {
        stop.number = info.entry.nr;
        std::copy(std::begin(info.entry.args), std::end(info.entry.args), stop.arguments.begin());
    } else {
        stop.result = info.exit.rval;
    }
    return stop;
}

}  // namespace shadowprof
