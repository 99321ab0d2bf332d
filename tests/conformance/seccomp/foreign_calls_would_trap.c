// A filter that traps calls the program does not make never traps.
#include "filter.h"

static volatile sig_atomic_t traps;

static void handle(int number) {
    (void)number;
    ++traps;
}

int main(void) {
    CHECK(signal(SIGSYS, handle) != SIG_ERR);
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_write, SECCOMP_RET_ALLOW),
            ANSWER_TO(SYS_exit_group, SECCOMP_RET_ALLOW),
            ANSWER_TO(SYS_rt_sigreturn, SECCOMP_RET_ALLOW),
            ANSWER_TO(SYS_getpid, SECCOMP_RET_ALLOW), ANSWER_TO(SYS_newfstatat, SECCOMP_RET_ALLOW),
            ANSWER_TO(SYS_brk, SECCOMP_RET_ALLOW), ANSWER_TO(SYS_getrandom, SECCOMP_RET_ALLOW),
            ANSWER_TO_OTHERS(SECCOMP_RET_TRAP));
    for (int round = 0; round < 150; ++round) {
        spin(120000);
        CHECK(traps == 0);
        CHECK(getpid() > 0);
    }
    syscall(SYS_getppid);
    CHECK(traps == 1);
    CHECK(write(1, "ok\n", 3) == 3);
    _exit(0);
}
