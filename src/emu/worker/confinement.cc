#include "emu/worker/confinement.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>

#include "base/files/fd.h"

namespace shadowprof {
namespace {

// System calls that are allowed whatever their arguments are.
constexpr std::array always_allowed = {
    SCMP_SYS(pread64),      SCMP_SYS(pwrite64),       SCMP_SYS(close),        SCMP_SYS(munmap),
    SCMP_SYS(mprotect),     SCMP_SYS(mremap),         SCMP_SYS(madvise),      SCMP_SYS(brk),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(futex),        SCMP_SYS(clock_gettime),  SCMP_SYS(sched_yield),  SCMP_SYS(getpid),
    SCMP_SYS(gettid),       SCMP_SYS(tgkill),         SCMP_SYS(exit),         SCMP_SYS(exit_group),
    SCMP_SYS(clock_getres), SCMP_SYS(getcpu),         SCMP_SYS(gettimeofday),
};

// System calls that are allowed on one descriptor only, which is their first argument.
constexpr std::array socket_calls = {SCMP_SYS(sendmsg), SCMP_SYS(recvmsg)};

struct ReleaseFilter {
    void operator()(void* filter) const { seccomp_release(filter); }
};

Result<void> install_filter(int socket_fd) {
    std::unique_ptr<void, ReleaseFilter> filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
    if (!filter) return Error{ErrorCode::system, ENOMEM, "worker: cannot make a seccomp filter"};
    int error = 0;
    const auto allow = [&](int call, std::optional<scmp_arg_cmp> condition = {}) {
        if (!error)
            error = seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, condition ? 1 : 0,
                                           condition ? &*condition : nullptr);
    };
    for (int call : always_allowed) allow(call);
    for (int call : socket_calls)
        allow(call, scmp_arg_cmp{0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(socket_fd), 0});
    // The only files that it has are those which it was given.
    allow(SCMP_SYS(mmap));
    // See ForeignStackGrowth.
    for (int call : {SCMP_SYS(getrlimit), SCMP_SYS(setrlimit)})
        allow(call, scmp_arg_cmp{0, SCMP_CMP_EQ, RLIMIT_STACK, 0});
    // GS gives access to guest memory (segment_bases.h); all other segment bases stay the worker's
    // own.
    allow(SCMP_SYS(arch_prctl), scmp_arg_cmp{0, SCMP_CMP_EQ, ARCH_SET_GS, 0});
    // The messages of failing assertions go to /dev/null.
    allow(SCMP_SYS(write), scmp_arg_cmp{0, SCMP_CMP_EQ, STDERR_FILENO, 0});
    if (!error) error = seccomp_load(filter.get());
    if (error) return errno_error("worker: cannot confine itself by seccomp", -error);
    return {};
}

void close_standard_streams() {
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), stream);
}

}  // namespace

Result<void> confine_worker(int socket_fd) {
    close_standard_streams();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (const UniqueFd score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score)
        (void)!write(score.get(), "1000", 4);
    return install_filter(socket_fd);
}

}  // namespace shadowprof
