#include "ptrace/remote/zombies.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include "ptrace/remote/remote_syscall.h"

namespace shadowprof {

Result<void> reap_zombies(RemoteSyscall& session, std::vector<pid_t>& zombies) {
    std::vector<pid_t> remaining;
    for (const pid_t pid : zombies) {
        TRY_ASSIGN(const std::int64_t result,
                   session.call(SYS_wait4, {static_cast<std::uint64_t>(pid), 0, WNOHANG | __WALL}));
        if (result == 0) remaining.push_back(pid);
    }
    zombies = std::move(remaining);
    return {};
}

}  // namespace shadowprof
