// Signals that are ignored do not end epoll_wait.
#include <sys/epoll.h>

#include "ignored.h"

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
    if (epoll_wait(polled, &event, 1, 300000) != 1) return -1;
    take();
    return 0;
}

int main(void) {
    CALL(pipe(ends));
    polled = CALL(epoll_create1(0));
    CALL(epoll_ctl(polled, EPOLL_CTL_ADD, ends[0], &(struct epoll_event){.events = EPOLLIN}));
    check_ignored(enter, wake);
    printf("ok\n");
}
