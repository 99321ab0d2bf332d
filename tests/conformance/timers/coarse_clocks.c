// A coarse clock is never ahead of the fine clock that is read after it.
#include <sys/time.h>
#include <time.h>

#include "check.h"

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void) {
    for (int round = 0; round < 200; ++round) {
        const int64_t coarse = now_ns(CLOCK_MONOTONIC_COARSE);
        spin(round % 2 ? 0 : 60000);
        CHECK(coarse <= now_ns(CLOCK_MONOTONIC));
        struct timespec resolution;
        CALL(clock_getres(CLOCK_MONOTONIC, &resolution));
        CHECK(resolution.tv_sec == 0 && resolution.tv_nsec >= 1);
        // Both clocks begin at boot; CLOCK_BOOTTIME includes suspended time.
        const int64_t monotonic = now_ns(CLOCK_MONOTONIC);
        CHECK(monotonic <= now_ns(CLOCK_BOOTTIME));
    }
    printf("ok\n");
}
