// A blocked signal stays pending; it is delivered before the call that unblocks it returns.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    (void)signal_number;
    ++handled;
}

int main(void) {
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    for (int round = 1; round <= 100; ++round) {
        CALL(sigprocmask(SIG_BLOCK, &set, NULL));
        CALL(raise(SIGUSR1));
        spin(480000);
        CHECK(handled == round - 1);
        CALL(sigpending(&pending));
        CHECK(sigismember(&pending, SIGUSR1) == 1 && sigismember(&pending, SIGUSR2) == 0);
        CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
        CHECK(handled == round);
        CALL(sigpending(&pending));
        CHECK(sigisemptyset(&pending));
    }
    printf("ok\n");
}
