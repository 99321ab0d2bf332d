// An absolute clock_nanosleep lasts until its time has come and never stores what is left.
#include "waiting.h"

static long sleep_until(struct timespec then) {
    struct timespec left = {123456789, 987654321};
    const int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, &left);
    CHECK(left.tv_sec == 123456789 && left.tv_nsec == 987654321);
    errno = error;
    return error == 0 ? 0 : -1;
}

static long enter(void) {
    return sleep_until(after(CLOCK_MONOTONIC, (int64_t)300 * second_ns));
}

int main(void) {
    for (int round = 0; round < 40; ++round) {
        spin(50000);
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(sleep_until(after(CLOCK_MONOTONIC, millisecond_ns)) == 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns);
    }
    check_waiting(&(struct waiting_call){.enter = enter});
}
