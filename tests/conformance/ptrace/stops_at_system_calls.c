// A tracer gets two stops for each system call of a traced child, and can change the result.
// leave-out: sampled,bursts,family: processes that are followed cannot be traced by others
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 15; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(status_skipped);
            CALL(raise(SIGSTOP));
            _exit(syscall(SYS_getppid) == 12345 ? 97 : 1);
        }
        int status, stops = 0;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped) skip("ptrace is refused");
        CALL(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD));
        for (;;) {
            CALL(ptrace(PTRACE_SYSCALL, child, 0, 0));
            CHECK(waitpid(child, &status, 0) == child);
            if (WIFEXITED(status)) break;
            CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80));
            struct user_regs_struct registers;
            CALL(ptrace(PTRACE_GETREGS, child, 0, &registers));
            if (registers.orig_rax != SYS_getppid) continue;
            if (++stops == 2) {
                registers.rax = 12345;
                CALL(ptrace(PTRACE_SETREGS, child, 0, &registers));
            }
            spin(30000);
        }
        CHECK(stops == 2 && WEXITSTATUS(status) == 97);
    }
    puts("ok");
}
