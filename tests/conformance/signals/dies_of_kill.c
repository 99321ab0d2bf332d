// A program that kills itself executes nothing afterwards.
// signal: SIGKILL
#include <signal.h>

#include "check.h"

int main(void) {
    uint64_t sum = 0;
    int round = 0;
    for (; round < 60; ++round) {
        sum ^= spin(400000);
        CHECK(getppid() >= 0);
    }
    printf("%d rounds, %d\n", round, sum != 0);
    fflush(stdout);
    kill(getpid(), SIGKILL);
    printf("not reached\n");
}
