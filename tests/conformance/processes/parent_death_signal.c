// PR_SET_PDEATHSIG signals a child at its parent's end, not before.
#include <signal.h>
#include <sys/prctl.h>

#include "child.h"

int main(void) {
    CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
    const pid_t self = getpid();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 30; ++round) {
        int ready[2];
        CALL(pipe(ready));
        const pid_t middle = CALL(fork());
        if (middle == 0) {
            const pid_t child = CALL(fork());
            if (child == 0) {
                CALL(prctl(PR_SET_PDEATHSIG, SIGUSR1));
                const struct timespec now = {0, 0};
                spin(30000);
                CHECK(sigtimedwait(&set, NULL, &now) == -1 && errno == EAGAIN);
                CHECK(write(ready[1], "x", 1) == 1);
                CHECK(CALL(sigwaitinfo(&set, NULL)) == SIGUSR1);
                CHECK(getppid() == self);
                _exit(34);
            }
            char byte;
            CHECK(read(ready[0], &byte, 1) == 1);
            spin(30000);
            _exit(35);
        }
        expect_exit(middle, 35);
        int status = 0;
        CALL(waitpid(-1, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 34);
        close(ready[0]);
        close(ready[1]);
    }
    puts("ok");
}
