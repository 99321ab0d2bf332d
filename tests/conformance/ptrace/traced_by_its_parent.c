// A child that asks to be traced stops at each signal and at exec, and its parent passes them on.
// leave-out: sampled,bursts,family: processes that are followed cannot be traced by others
#include <sys/ptrace.h>

#include "child.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) return 95;
    for (int round = 0; round < 15; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(status_skipped);
            CALL(raise(SIGUSR1));
            execl("/proc/self/exe", "self", "again", NULL);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped) skip("ptrace is refused");
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1);
        spin(50000);
        CALL(ptrace(PTRACE_CONT, child, 0, 0));
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
        CALL(ptrace(PTRACE_CONT, child, 0, 0));
        expect_exit(child, 95);
    }
    puts("ok");
}
