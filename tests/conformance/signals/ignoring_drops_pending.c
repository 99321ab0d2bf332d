// A pending signal is dropped when it is set to be ignored.
#include <signal.h>

#include "check.h"

static void never(int signal_number) {
    CHECK(signal_number == 0);
}

int main(void) {
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    for (int round = 0; round < 60; ++round) {
        CHECK(signal(SIGUSR1, never) != SIG_ERR && signal(SIGCHLD, never) != SIG_ERR);
        CALL(sigprocmask(SIG_BLOCK, &set, NULL));
        CALL(raise(SIGUSR1));
        CALL(raise(SIGCHLD));
        spin(400000);
        CALL(sigpending(&pending));
        CHECK(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGCHLD));
        CHECK(signal(SIGUSR1, SIG_IGN) == never);
        // The default action also ignores it.
        CHECK(signal(SIGCHLD, SIG_DFL) == never);
        CALL(sigpending(&pending));
        CHECK(sigisemptyset(&pending));
        CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
    }
    printf("ok\n");
}
