// epoll reports level-triggered events each time, edge-triggered ones once, one-shot until rearmed.
#include <sys/epoll.h>

#include "check.h"

int main(void) {
    int level[2], edge[2], once[2];
    CALL(pipe(level));
    CALL(pipe(edge));
    CALL(pipe(once));
    const int set = CALL(epoll_create1(0));
    struct epoll_event events[4];
    struct epoll_event one = {.events = EPOLLIN, .data.u32 = 1};
    struct epoll_event two = {.events = EPOLLIN | EPOLLET, .data.u32 = 2};
    struct epoll_event three = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = 4};
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, level[0], &one));
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, edge[0], &two));
    CALL(epoll_ctl(set, EPOLL_CTL_ADD, once[0], &three));
    for (int round = 0; round < 60; ++round) {
        CHECK(write(level[1], "x", 1) == 1 && write(edge[1], "x", 1) == 1 &&
              write(once[1], "x", 1) == 1);
        spin(30000);
        unsigned seen = 0;
        int count = CALL(epoll_wait(set, events, 4, -1));
        CHECK(count == 3);
        for (int i = 0; i < count; ++i) seen |= events[i].data.u32;
        CHECK(seen == 7);
        spin(30000);
        count = CALL(epoll_wait(set, events, 4, 0));
        CHECK(count == 1 && events[0].data.u32 == 1);
        CALL(epoll_ctl(set, EPOLL_CTL_MOD, once[0], &three));
        count = CALL(epoll_wait(set, events, 4, 0));
        CHECK(count == 2);
        char byte;
        CHECK(read(level[0], &byte, 1) == 1 && read(edge[0], &byte, 1) == 1 &&
              read(once[0], &byte, 1) == 1);
        CALL(epoll_ctl(set, EPOLL_CTL_MOD, once[0], &three));
        CHECK(epoll_wait(set, events, 4, 0) == 0);
    }
    puts("ok");
}
