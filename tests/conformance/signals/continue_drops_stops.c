// SIGCONT cancels pending stop signals, and stop signals cancel a pending SIGCONT.
#include <signal.h>

#include "check.h"

static int is_pending(int signal_number) {
    sigset_t pending;
    CALL(sigpending(&pending));
    return sigismember(&pending, signal_number);
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGTTIN);
    sigaddset(&set, SIGCONT);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int round = 0; round < 60; ++round) {
        spin(240000);
        CALL(raise(SIGTSTP));
        CALL(raise(SIGTTIN));
        CHECK(is_pending(SIGTSTP) && is_pending(SIGTTIN) && !is_pending(SIGCONT));
        spin(240000);
        CALL(raise(SIGCONT));
        CHECK(!is_pending(SIGTSTP) && !is_pending(SIGTTIN));
    }
    CALL(raise(SIGCONT));
    CHECK(signal(SIGTSTP, SIG_IGN) != SIG_ERR && signal(SIGTTIN, SIG_IGN) != SIG_ERR);
    CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
    printf("ok\n");
}
