// A nanosleep that nothing interrupts leaves `rem` as it was; a handler makes it store the rest.
#include "waiting.h"

static long enter(void) {
    struct timespec left = {-1, -1};
    const long result = nanosleep(&(struct timespec){.tv_sec = 300}, &left);
    // Timer slack may make it a little more than requested.
    CHECK(left.tv_sec >= 0 && left.tv_sec <= 300);
    return result;
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        spin(50000);
        struct timespec left = {123456789, 987654321};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(nanosleep(&(struct timespec){.tv_nsec = millisecond_ns}, &left) == 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns);
        CHECK(left.tv_sec == 123456789 && left.tv_nsec == 987654321);
    }
    check_waiting(&(struct waiting_call){.enter = enter});
}
