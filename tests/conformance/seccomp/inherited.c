// A filter holds in children and behind exec.
#include "filter.h"

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 1) {
        spin(30000);
        return syscall(SYS_getppid) == -1 && errno == 88 ? 93 : 1;
    }
    INSTALL(0, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_ERRNO | 88),
            ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    for (int round = 0; round < 25; ++round) {
        spin(60000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(syscall(SYS_getppid) == -1 && errno == 88);
            if (round % 2) execl("/proc/self/exe", "self", "again", NULL);
            _exit(93);
        }
        expect_exit(child, 93);
    }
    puts("ok");
}
