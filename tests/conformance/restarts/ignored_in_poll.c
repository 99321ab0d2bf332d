// Signals that are ignored do not end poll.
#include <poll.h>

#include "ignored.h"

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
    if (poll(&polled, 1, 300000) != 1) return -1;
    take();
    return 0;
}

int main(void) {
    CALL(pipe(ends));
    check_ignored(enter, wake);
    printf("ok\n");
}
