// A child has its parent's mask and actions, and none of its pending signals.
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static void never(int signal_number) {
    CHECK(signal_number == 0);
}

static void check_child(void) {
    sigset_t set;
    struct sigaction found;
    CALL(sigpending(&set));
    CHECK(sigisemptyset(&set));
    CALL(sigprocmask(SIG_SETMASK, NULL, &set));
    CHECK(sigismember(&set, SIGUSR1) && !sigismember(&set, SIGUSR2));
    CALL(sigaction(SIGUSR1, NULL, &found));
    CHECK(found.sa_handler == never);
    spin(400000);
}

int main(void) {
    CHECK(signal(SIGUSR1, never) != SIG_ERR);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    CALL(raise(SIGUSR1));
    for (int round = 0; round < 20; ++round) {
        spin(800000);
        const pid_t child = CALL(fork());
        if (child == 0) {
            check_child();
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CALL(sigpending(&set));
        CHECK(sigismember(&set, SIGUSR1));
    }
    printf("ok\n");
}
