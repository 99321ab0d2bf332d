// SECCOMP_RET_LOG lets a call happen; a call for a tracer that does not exist fails with ENOSYS.
#include "filter.h"

int main(void) {
    const pid_t self = getpid();
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getpgrp, SECCOMP_RET_LOG),
            ANSWER_TO(SYS_getppid, SECCOMP_RET_TRACE | 5), ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    const pid_t group = getpgid(0);
    for (int round = 0; round < 60; ++round) {
        spin(100000);
        if (round < 3) CHECK(syscall(SYS_getpgrp) == group);
        CHECK(syscall(SYS_getppid) == -1 && errno == ENOSYS);
        CHECK(getpid() == self);
    }
    puts("ok");
}
