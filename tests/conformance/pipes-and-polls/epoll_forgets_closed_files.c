// A file whose only descriptor is closed is in no epoll set any more.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "check.h"

int main(void) {
    const int set = CALL(epoll_create1(0));
    for (int round = 0; round < 200; ++round) {
        const int file = CALL(eventfd(1, 0));
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)round};
        CALL(epoll_ctl(set, EPOLL_CTL_ADD, file, &event));
        CHECK(epoll_wait(set, &event, 1, 0) == 1 && event.data.u64 == (uint64_t)round);
        spin(60000);
        CALL(close(file));
        CHECK(epoll_wait(set, &event, 1, 0) == 0);
    }
    puts("ok");
}
