// A process's CPU clock advances while it computes and stands still while it sleeps.
#include <time.h>

#include "check.h"

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void) {
    for (int round = 0; round < 10; ++round) {
        int64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        spin(100000);
        CHECK(now_ns(CLOCK_THREAD_CPUTIME_ID) > start);
        start = now_ns(CLOCK_THREAD_CPUTIME_ID);
        const int64_t start_wall = now_ns(CLOCK_MONOTONIC);
        nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
        const int64_t computed = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        const int64_t lasted = now_ns(CLOCK_MONOTONIC) - start_wall;
        CHECK(lasted >= 4000000 && computed < lasted - 1000000);
    }
    printf("ok\n");
}
