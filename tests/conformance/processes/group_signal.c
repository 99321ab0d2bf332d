// A signal to a process group reaches each of its members once, and nobody else.
#include <signal.h>

#include "child.h"

enum { members = 3 };

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 20; ++round) {
        pid_t group = 0;
        pid_t pids[members];
        const pid_t self = getpid();
        for (int i = 0; i < members; ++i) {
            pids[i] = CALL(fork());
            if (pids[i] == 0) {
                siginfo_t info;
                CHECK(CALL(sigwaitinfo(&set, &info)) == SIGUSR1);
                CHECK(info.si_pid == self && info.si_code == SI_USER);
                spin(20000);
                sigset_t pending;
                CALL(sigpending(&pending));
                CHECK(!sigismember(&pending, SIGUSR1));
                _exit(36);
            }
            CALL(setpgid(pids[i], group));
            if (group == 0) group = pids[0];
        }
        spin(60000);
        CALL(killpg(group, SIGUSR1));
        for (int i = 0; i < members; ++i) expect_exit(pids[i], 36);
        CHECK(killpg(group, 0) == -1 && errno == ESRCH);
    }
    sigset_t pending;
    CALL(sigpending(&pending));
    CHECK(!sigismember(&pending, SIGUSR1));
    puts("ok");
}
