// No clock goes back, whether it is read by the vDSO or by a system call.
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static int64_t as_ns(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(void) {
    const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME,
                                CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    int64_t last[5] = {0};
    for (int round = 0; round < 200; ++round) {
        spin(20000);
        for (int clock = 0; clock < 5; ++clock) {
            struct timespec now;
            if (round % 2) {
                CALL(clock_gettime(clocks[clock], &now));
            } else {
                CALL(syscall(SYS_clock_gettime, clocks[clock], &now));
            }
            CHECK(now.tv_nsec >= 0 && now.tv_nsec < 1000000000);
            CHECK(as_ns(now) >= last[clock]);
            last[clock] = as_ns(now);
        }
    }
    printf("ok\n");
}
