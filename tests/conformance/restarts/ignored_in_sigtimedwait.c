// Signals that are ignored do not end sigtimedwait.
#include <signal.h>

#include "ignored.h"

static pid_t waiter;
static sigset_t awaited;

static void wake(void) {
    CALL(kill(waiter, SIGUSR1));
}

static long enter(void) {
    return sigtimedwait(&awaited, NULL, &(struct timespec){.tv_sec = 300}) - SIGUSR1;
}

int main(void) {
    waiter = getpid();
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &awaited, NULL));
    check_ignored(enter, wake);
    printf("ok\n");
}
