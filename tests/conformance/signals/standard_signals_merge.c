// A standard signal that is already pending is not queued a second time.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    CHECK(signal(SIGUSR1, count) != SIG_ERR && signal(SIGUSR2, count) != SIG_ERR);
    for (int round = 1; round <= 60; ++round) {
        CALL(sigprocmask(SIG_BLOCK, &set, NULL));
        for (int sent = 0; sent < 5; ++sent) {
            CALL(kill(getpid(), SIGUSR1));
            spin(30000);
        }
        CALL(kill(getpid(), SIGUSR2));
        CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
        CHECK(handled == 2 * round);
    }
    printf("ok\n");
}
