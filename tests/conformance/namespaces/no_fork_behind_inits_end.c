// Forks into a PID namespace fail with ENOMEM once its init has ended, and succeed before.
#include "enter.h"

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 25; ++round) {
        const pid_t outer = CALL(fork());
        if (outer == 0) {
            CALL(unshare(CLONE_NEWPID));
            spin(40000);
            const pid_t init = CALL(fork());
            if (init == 0) sleep_for_ever();
            spin(40000);
            const pid_t second = CALL(fork());
            if (second == 0) _exit(getpid() == 2 && getppid() == 0 ? 0 : 1);
            expect_exit(second, 0);
            CALL(kill(init, SIGKILL));
            expect_killed(init, SIGKILL);
            CHECK(fork() == -1 && errno == ENOMEM);
            _exit(0);
        }
        expect_exit(outer, 0);
    }
    puts("ok");
}
