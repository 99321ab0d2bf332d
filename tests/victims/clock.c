// Asks for the time in every way that the vDSO answers, and checks that time never runs backwards.
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "work.h"

static long long nanoseconds(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) exit(1);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 9000000;
    uint64_t state = 1;
    long long last = nanoseconds(CLOCK_MONOTONIC);
    for (long round = 0; round < rounds; ++round) {
        state = work(state, 100);
        const long long now = nanoseconds(CLOCK_MONOTONIC);
        struct timeval day;
        gettimeofday(&day, NULL);
        const long long behind = nanoseconds(CLOCK_REALTIME) / 1000000000 - time(NULL);
        if (now < last || behind < -1 || behind > 1 || day.tv_usec > 999999) {
            printf("clock: wrong time\n");
            return 1;
        }
        last = now;
    }
    printf("clock: %ld rounds\n", rounds);
    return state == 0;
}
