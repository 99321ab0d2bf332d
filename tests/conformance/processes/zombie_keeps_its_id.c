// A zombie still accepts signals, and its id is not reused.
#include <signal.h>

#include "child.h"

int main(void) {
    enum { zombies = 6 };
    for (int round = 0; round < 12; ++round) {
        pid_t pids[zombies];
        for (int i = 0; i < zombies; ++i) {
            pids[i] = CALL(fork());
            if (pids[i] == 0) _exit(i);
            siginfo_t info;
            CALL(waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT));
            for (int k = 0; k < i; ++k) CHECK(pids[k] != pids[i]);
        }
        spin(100000);
        for (int i = 0; i < zombies; ++i) {
            CALL(kill(pids[i], SIGKILL));
            CHECK(getpgid(pids[i]) == getpgrp());
        }
        spin(50000);
        for (int i = 0; i < zombies; ++i) expect_exit(pids[i], i);
        for (int i = 0; i < zombies; ++i) CHECK(kill(pids[i], 0) == -1 && errno == ESRCH);
    }
    puts("ok");
}
