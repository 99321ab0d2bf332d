// poll, select and epoll_wait that nothing wakes return 0, not early, and without events.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "check.h"

static int64_t now_ns(void) {
    struct timespec now;
    CALL(clock_gettime(CLOCK_MONOTONIC, &now));
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(void) {
    int ends[2];
    CALL(pipe(ends));
    const int set = CALL(epoll_create1(0));
    struct epoll_event event = {.events = EPOLLIN};
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    for (int round = 0; round < 15; ++round) {
        int64_t begin = now_ns();
        struct pollfd one = {ends[0], POLLIN, 0x7fff};
        CHECK(poll(&one, 1, 2) == 0 && one.revents == 0);
        CHECK(now_ns() - begin >= 2000000);
        spin(60000);
        begin = now_ns();
        fd_set reads;
        FD_ZERO(&reads);
        FD_SET(ends[0], &reads);
        struct timeval wait = {0, 1000};
        CHECK(select(ends[0] + 1, &reads, NULL, NULL, &wait) == 0 && !FD_ISSET(ends[0], &reads));
        CHECK(wait.tv_sec == 0 && wait.tv_usec == 0);
        CHECK(now_ns() - begin >= 1000000);
        begin = now_ns();
        CHECK(epoll_wait(set, &event, 1, 1) == 0);
        CHECK(now_ns() - begin >= 1000000);
    }
    puts("ok");
}
