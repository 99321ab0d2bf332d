// abort ends a program by SIGABRT, even where the signal is blocked and ignored.
// signal: SIGABRT
#include <signal.h>

#include "check.h"

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    CHECK(signal(SIGABRT, SIG_IGN) != SIG_ERR);
    uint64_t sum = 0;
    int round = 0;
    for (; round < 60; ++round) {
        sum ^= spin(400000);
        CHECK(getppid() >= 0);
    }
    printf("%d rounds, %d\n", round, sum != 0);
    fflush(stdout);
    abort();
    printf("not reached\n");
}
