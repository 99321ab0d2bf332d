// The strictest answer of several filters counts, in whatever order they were installed.
#include "filter.h"

int main(void) {
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_ERRNO | 61),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_ALLOW),
            ANSWER_TO(SYS_getpgrp, SECCOMP_RET_ERRNO | 62), ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getpgrp, SECCOMP_RET_ERRNO | 63),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    for (int round = 0; round < 100; ++round) {
        spin(80000);
        CHECK(syscall(SYS_getppid) == -1 && errno == 61);
        CHECK(syscall(SYS_getpgrp) == -1 && errno == 63);
        CHECK(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER);
    }
    puts("ok");
}
