// A program whose filter kills it for making or signalling a process runs to its end.
#include "filter.h"

int main(void) {
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_clone, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_clone3, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_fork, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_vfork, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_wait4, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_waitid, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_kill, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_tgkill, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_madvise, SECCOMP_RET_KILL_PROCESS),
            ANSWER_TO(SYS_mprotect, SECCOMP_RET_KILL_PROCESS), ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    uint64_t sum = 0;
    for (int round = 0; round < 150; ++round) {
        sum += spin(150000) & 1;
        CHECK(getpid() > 0);
    }
    printf("%lu\n", sum);
}
