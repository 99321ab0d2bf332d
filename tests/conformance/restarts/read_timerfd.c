// read of a timerfd waits until it expires, through stops and handlers with SA_RESTART.
#include <sys/timerfd.h>

#include "waiting.h"

static int timer;

static void expire_in(int64_t duration_ns) {
    const struct itimerspec when = {.it_value.tv_nsec = duration_ns};
    CALL(timerfd_settime(timer, 0, &when, NULL));
}

static void wake(void) {
    expire_in(1);
}

static long enter(void) {
    uint64_t expired = 0;
    const long result = read(timer, &expired, sizeof expired);
    return result < 0 ? result : (long)expired;
}

int main(void) {
    timer = CALL(timerfd_create(CLOCK_MONOTONIC, 0));
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        expire_in(millisecond_ns);
        CHECK(enter() == 1);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1, .restarts = true});
}
