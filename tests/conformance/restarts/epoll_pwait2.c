// epoll_pwait2 lasts for its whole time-out, and returns EINTR only behind handlers and stops.
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "waiting.h"

static int polled;

// Older C libraries lack the function.
static long wait_for(struct epoll_event* event, struct timespec timeout) {
    return syscall(SYS_epoll_pwait2, polled, event, 1, &timeout, NULL, 0);
}

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
    const long result = wait_for(&event, (struct timespec){.tv_sec = 300});
    if (result == 1) take();
    return result;
}

int main(void) {
    CALL(pipe(ends));
    polled = CALL(epoll_create1(0));
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = 7};
    CALL(epoll_ctl(polled, EPOLL_CTL_ADD, ends[0], &wanted));
    struct epoll_event none;
    if (wait_for(&none, (struct timespec){0}) < 0 && errno == ENOSYS) skip("no epoll_pwait2");
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        struct epoll_event event = {.data.u64 = 5};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(wait_for(&event, (struct timespec){.tv_nsec = millisecond_ns}) == 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns && event.data.u64 == 5);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
}
