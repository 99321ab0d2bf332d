// A timerfd counts its expirations until they are read, and is readable only then.
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "check.h"

enum { interval_ns = 500000 };

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    CALL(clock_gettime(clock, &now));
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void) {
    const int timer = CALL(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
    const struct itimerspec wanted = {{0, interval_ns}, {0, interval_ns}};
    uint64_t expired, sum = 0;
    CHECK(read(timer, &expired, sizeof expired) == -1 && errno == EAGAIN);
    const int64_t start = now_ns(CLOCK_MONOTONIC);
    CALL(timerfd_settime(timer, 0, &wanted, NULL));
    for (int round = 0; round < 60; ++round) {
        spin(50000 + 20000 * (uint64_t)(round % 10));
        struct pollfd polled = {.fd = timer, .events = POLLIN};
        CHECK(poll(&polled, 1, -1) == 1 && polled.revents == POLLIN);
        CHECK(read(timer, &expired, sizeof expired) == sizeof expired && expired >= 1);
        sum += expired;
        CHECK((int64_t)sum * interval_ns <= now_ns(CLOCK_MONOTONIC) - start);
    }
    CALL(timerfd_settime(timer, 0, &(struct itimerspec){0}, NULL));
    CHECK(read(timer, &expired, sizeof expired) == -1 && errno == EAGAIN);
    printf("ok\n");
}
