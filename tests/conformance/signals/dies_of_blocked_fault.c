// A fault whose signal is blocked or ignored still ends the program.
// signal: SIGSEGV
#include <signal.h>

#include "check.h"

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    CALL(sigprocmask(SIG_BLOCK, &set, NULL));
    CHECK(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
    uint64_t sum = 0;
    int round = 0;
    for (; round < 60; ++round) {
        sum ^= spin(400000);
        CHECK(getppid() >= 0);
    }
    printf("%d rounds, %d\n", round, sum != 0);
    fflush(stdout);
    *(volatile int*)(uintptr_t)(round - 60) = 1;
    printf("not reached\n");
}
