// poll waits for its whole time-out unless something is ready; every handler ends it.
#include <poll.h>

#include "waiting.h"

static int ends[2];

static void wake(void) {
    CHECK(write(ends[1], "x", 1) == 1);
}

static void take(void) {
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}

static long enter(void) {
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    const long result = poll(&polled, 1, 300000);
    if (result == 1) take();
    return result;
}

int main(void) {
    CALL(pipe(ends));
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        struct pollfd polled = {.fd = ends[0], .events = POLLIN, .revents = -1};
        const int64_t start = now_ns(CLOCK_MONOTONIC);
        CHECK(poll(&polled, 1, 1) == 0 && polled.revents == 0);
        CHECK(now_ns(CLOCK_MONOTONIC) - start >= millisecond_ns);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
}
