// With WNOWAIT a dead child can be waited for again.
#include "child.h"

int main(void) {
    for (int round = 0; round < 50; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) _exit(9);
        for (int look = 0; look < 4; ++look) {
            siginfo_t info = {0};
            CALL(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT));
            CHECK(info.si_pid == child);
            CHECK(info.si_status == 9);
            spin(30000);
            CHECK(kill(child, 0) == 0);
        }
        expect_exit(child, 9);
        CHECK(kill(child, 0) == -1 && errno == ESRCH);
    }
    puts("ok");
}
