// A signal that a process sends to itself is delivered before kill returns.
#include <signal.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void count(int signal_number) {
    CHECK(signal_number == SIGUSR1);
    ++handled;
}

int main(void) {
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    for (int round = 1; round <= 100; ++round) {
        spin(800000);
        CALL(kill(getpid(), SIGUSR1));
        CHECK(handled == round);
    }
    printf("ok\n");
}
