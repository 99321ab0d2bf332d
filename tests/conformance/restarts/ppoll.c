// ppoll stores what is left of its time-out: nothing after it expired, most of it when woken.
#include <poll.h>
#include <sys/syscall.h>

#include "waiting.h"

static int ends[2];

static void wake(void) {
    CHECK(write(ends[1], "x", 1) == 1);
}

static void take(void) {
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
}

// The C library's ppoll hides what the kernel stores.
static long poll_for(struct timespec* timeout) {
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    return syscall(SYS_ppoll, &polled, 1, timeout, NULL, 0);
}

static long enter(void) {
    struct timespec left = {.tv_sec = 300};
    const long result = poll_for(&left);
    CHECK(left.tv_sec > 200 && left.tv_sec <= 300);
    if (result == 1) take();
    return result;
}

int main(void) {
    CALL(pipe(ends));
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        struct timespec left = {.tv_nsec = millisecond_ns};
        CHECK(poll_for(&left) == 0);
        CHECK(left.tv_sec == 0 && left.tv_nsec == 0);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
}
