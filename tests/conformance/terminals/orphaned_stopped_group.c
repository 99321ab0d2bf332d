// A stopped process group that becomes orphaned gets SIGHUP and SIGCONT.
#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    for (int round = 0; round < 25; ++round) {
        const pid_t session = CALL(fork());
        if (session == 0) {
            CALL(setsid());
            const pid_t middle = CALL(fork());
            if (middle == 0) {
                const pid_t stopped = CALL(fork());
                if (stopped == 0) {
                    CALL(setpgid(0, 0));
                    CHECK(signal(SIGHUP, SIG_DFL) != SIG_ERR);
                    CALL(raise(SIGSTOP));
                    for (;;) spin(50000);
                }
                int status;
                CHECK(waitpid(stopped, &status, WUNTRACED) == stopped && WIFSTOPPED(status));
                spin(40000);
                _exit(87);
            }
            expect_exit(middle, 87);
            _exit(88);
        }
        expect_exit(session, 88);
        int status;
        CALL(waitpid(-1, &status, 0));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
        expect_no_child();
        spin(40000);
    }
    puts("ok");
}
