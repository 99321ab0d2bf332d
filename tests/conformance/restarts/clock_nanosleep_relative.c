// A relative clock_nanosleep that nothing interrupts leaves `rem` as it was, on each clock.
#include "waiting.h"

static long enter(void) {
    struct timespec left = {-1, -1};
    const int error = clock_nanosleep(CLOCK_BOOTTIME, 0, &(struct timespec){.tv_sec = 300}, &left);
    // Timer slack may make it a little more than requested.
    CHECK(left.tv_sec >= 0 && left.tv_sec <= 300);
    errno = error;
    return error == 0 ? 0 : -1;
}

int main(void) {
    const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
    for (int round = 0; round < 42; ++round) {
        spin(50000);
        struct timespec left = {123456789, 987654321};
        const struct timespec wanted = {.tv_nsec = millisecond_ns};
        CHECK(clock_nanosleep(clocks[round % 3], 0, &wanted, &left) == 0);
        CHECK(left.tv_sec == 123456789 && left.tv_nsec == 987654321);
    }
    check_waiting(&(struct waiting_call){.enter = enter});
}
