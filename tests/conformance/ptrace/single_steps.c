// Single steps of a traced child execute one instruction each.
// leave-out: sampled,bursts,family: processes that are followed cannot be traced by others
#include <sys/ptrace.h>
#include <sys/user.h>

#include "child.h"

void stepped(void);
__asm__(
    ".pushsection .text\n"
    ".globl stepped\n"
    "stepped: int3\n"
    "nop\n nop\n inc %eax\n nop\n int3\n ret\n"
    ".popsection");

int main(void) {
    for (int round = 0; round < 15; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(status_skipped);
            stepped();
            _exit(96);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == status_skipped) skip("ptrace is refused");
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
        struct user_regs_struct registers;
        for (uintptr_t at = 1; at < 6; at += at == 3 ? 2 : 1) {
            CALL(ptrace(PTRACE_GETREGS, child, 0, &registers));
            CHECK(registers.rip == (uintptr_t)stepped + at);
            spin(10000);
            if (at == 5) break;
            CALL(ptrace(PTRACE_SINGLESTEP, child, 0, 0));
            CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        }
        CALL(ptrace(PTRACE_CONT, child, 0, 0));
        CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
              WSTOPSIG(status) == SIGTRAP);
        CALL(ptrace(PTRACE_CONT, child, 0, 0));
        expect_exit(child, 96);
    }
    puts("ok");
}
