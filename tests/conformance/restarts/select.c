// select stores the rest of its time-out: 0 when it expired, most of it when woken early.
#include <sys/select.h>
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

static long select_for(struct timeval* timeout) {
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    const long result = syscall(SYS_select, ends[0] + 1, &readable, NULL, NULL, timeout);
    CHECK(result < 0 || FD_ISSET(ends[0], &readable) == (result == 1));
    return result;
}

static long enter(void) {
    struct timeval left = {.tv_sec = 300};
    const long result = select_for(&left);
    CHECK(left.tv_sec > 200 && left.tv_sec <= 300);
    if (result == 1) take();
    return result;
}

int main(void) {
    CALL(pipe(ends));
    for (int round = 0; round < 30; ++round) {
        spin(50000);
        struct timeval left = {.tv_usec = 1000};
        CHECK(select_for(&left) == 0);
        CHECK(left.tv_sec == 0 && left.tv_usec == 0);
    }
    check_waiting(&(struct waiting_call){enter, wake, .done = 1});
}
