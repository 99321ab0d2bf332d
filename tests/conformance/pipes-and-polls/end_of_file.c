// A pipe is at its end as soon as its only writing end is closed.
#include <fcntl.h>
#include <poll.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 200; ++round) {
        int ends[2];
        CALL(pipe2(ends, O_NONBLOCK));
        char byte;
        CHECK(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
        CHECK(write(ends[1], "x", 1) == 1);
        spin(60000);
        CALL(close(ends[1]));
        CHECK(read(ends[0], &byte, 1) == 1);
        struct pollfd one = {ends[0], POLLIN, 0};
        const int ready = poll(&one, 1, 0);
        CHECK(ready == 1 && one.revents == POLLHUP);
        CHECK(read(ends[0], &byte, 1) == 0);
        CALL(close(ends[0]));
    }
    puts("ok");
}
