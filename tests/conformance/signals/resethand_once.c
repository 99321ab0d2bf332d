// A handler with SA_RESETHAND runs once; its signal has the default action again while it runs.
// signal: SIGUSR1
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void once(int signal_number) {
    struct sigaction found;
    CALL(sigaction(signal_number, NULL, &found));
    CHECK(found.sa_handler == SIG_DFL);
    ++handled;
}

int main(void) {
    for (int round = 1; round <= 80; ++round) {
        struct sigaction action = {.sa_handler = once, .sa_flags = (int)SA_RESETHAND};
        CALL(sigaction(SIGUSR1, &action, NULL));
        spin(400000);
        CALL(raise(SIGUSR1));
        CHECK(handled == round);
    }
    printf("ok\n");
    fflush(stdout);
    raise(SIGUSR1);
    printf("not reached\n");
}
