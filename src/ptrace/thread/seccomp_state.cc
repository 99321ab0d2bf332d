#include "ptrace/thread/seccomp_state.h"

#include <unistd.h>

#include "ptrace/thread/ptrace_call.h"

namespace shadowprof {
namespace {

// Values of ProcStatus::seccomp.
constexpr int no_seccomp = 0;
constexpr int filters = 2;

bool has_as_many(const ProcStatus& a, const ProcStatus& b) {
    return a.seccomp == filters && b.seccomp == filters && a.seccomp_filters == b.seccomp_filters;
}

}  // namespace

bool has_same_filters(const ProcStatus& target, const ProcStatus& own, pid_t own_pid,
                      const ProcStatus& first_process) {
    if (!has_as_many(target, own)) return false;
    return target.parent_pid == own_pid || has_as_many(target, first_process);
}

Result<bool> suspend_seccomp(pid_t tid, std::uint64_t options) {
    const auto suspended = options | PTRACE_O_SUSPEND_SECCOMP;
    if (ptrace_call(PTRACE_SETOPTIONS, tid, 0, suspended, "suspend seccomp")) return true;
    TRY_ASSIGN(const ProcStatus target, read_proc_status(tid));
    if (target.seccomp == no_seccomp) return false;
    TRY_ASSIGN(const ProcStatus own, read_proc_status(::getpid()));
    const ProcStatus first = read_proc_status(1).value_or(ProcStatus{});
    if (has_same_filters(target, own, ::getpid(), first)) return false;
    return Error{ErrorCode::permission, 0,
                 "the program has a seccomp filter, which might kill it for the system calls that "
                 "forking takes; only root can suspend it"};
}

}  // namespace shadowprof
