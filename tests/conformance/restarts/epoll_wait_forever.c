// epoll_wait without a time-out returns EINTR only behind handlers and stops.
#include <sys/epoll.h>

#include "waiting.h"

static int polled;

static int ends[2];

static void wake(void) {
    CHECK(write(ends[1], "x", 1) == 1);
}

static void take(void) {
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}

static long enter(void) {
    struct epoll_event event;
    const long result = epoll_wait(polled, &event, 1, -1);
    if (result == 1) take();
    return result;
}

int main(void) {
    CALL(pipe(ends));
    polled = CALL(epoll_create1(0));
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = 7};
    CALL(epoll_ctl(polled, EPOLL_CTL_ADD, ends[0], &wanted));
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        struct epoll_event event = {.data.u64 = 5};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(epoll_wait(polled, &event, 1, 1) == 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns && event.data.u64 == 5);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
}
