// FUTEX_WAIT_BITSET takes a deadline: of the monotonic clock, or of the wall clock.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"

static int before(const struct timespec* a, const struct timespec* b) {
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

int main(void) {
    static int word;
    for (int round = 0; round < 30; ++round) {
        const int wall = round % 2;
        const clockid_t clock = wall ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        struct timespec deadline, now;
        CALL(clock_gettime(clock, &deadline));
        deadline.tv_nsec += 1000000;
        if (deadline.tv_nsec >= 1000000000) {
            deadline.tv_nsec -= 1000000000;
            ++deadline.tv_sec;
        }
        const int operation = FUTEX_WAIT_BITSET_PRIVATE | (wall ? FUTEX_CLOCK_REALTIME : 0);
        CHECK(syscall(SYS_futex, &word, operation, 0, &deadline, NULL, -1) == -1 &&
              errno == ETIMEDOUT);
        CALL(clock_gettime(clock, &now));
        CHECK(!before(&now, &deadline));
        CHECK(syscall(SYS_futex, &word, operation, 0, &deadline, NULL, -1) == -1 &&
              errno == ETIMEDOUT);
        spin(60000);
    }
    puts("ok");
}
