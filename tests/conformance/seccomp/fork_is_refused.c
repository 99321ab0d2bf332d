// If a filter refuses new processes with an error, each fork fails with that error.
#include "filter.h"

int main(void) {
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_clone, SECCOMP_RET_ERRNO | ENOTBLK),
            ANSWER_TO(SYS_clone3, SECCOMP_RET_ERRNO | ENOTBLK),
            ANSWER_TO(SYS_fork, SECCOMP_RET_ERRNO | ENOTBLK),
            ANSWER_TO(SYS_vfork, SECCOMP_RET_ERRNO | ENOTBLK), ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    for (int round = 0; round < 100; ++round) {
        spin(100000);
        CHECK(fork() == -1 && errno == ENOTBLK);
        expect_no_child();
    }
    puts("ok");
}
