// A handler's own signal and those of sa_mask are blocked during the handler, and not afterwards.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t inside, handled, late;

static void second(int signal_number) {
    CHECK(signal_number == SIGUSR2 && !inside);
    ++late;
}

static void first(int signal_number) {
    sigset_t mask;
    CHECK(!inside);
    inside = 1;
    CALL(sigprocmask(SIG_SETMASK, NULL, &mask));
    CHECK(sigismember(&mask, signal_number) && sigismember(&mask, SIGUSR2));
    CHECK(!sigismember(&mask, SIGTERM));
    const int before = late;
    CALL(raise(SIGUSR2));
    spin(240000);
    CHECK(late == before);
    ++handled;
    inside = 0;
}

int main(void) {
    struct sigaction action = {.sa_handler = first};
    sigaddset(&action.sa_mask, SIGUSR2);
    CALL(sigaction(SIGUSR1, &action, NULL));
    CHECK(signal(SIGUSR2, second) != SIG_ERR);
    sigset_t before, behind;
    CALL(sigprocmask(SIG_SETMASK, NULL, &before));
    for (int round = 1; round <= 100; ++round) {
        spin(320000);
        CALL(raise(SIGUSR1));
        CHECK(handled == round && late == round);
        CALL(sigprocmask(SIG_SETMASK, NULL, &behind));
        CHECK(memcmp(&before, &behind, 8) == 0);
    }
    printf("ok\n");
}
