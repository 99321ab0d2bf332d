// tee copies a pipe's content without consuming it; vmsplice puts memory into a pipe.
#include <fcntl.h>
#include <sys/uio.h>

#include "check.h"

int main(void) {
    int one[2], two[2];
    CALL(pipe2(one, O_NONBLOCK));
    CALL(pipe2(two, O_NONBLOCK));
    for (int round = 0; round < 100; ++round) {
        char text[100], got[100];
        memset(text, 'a' + round % 26, sizeof text);
        const struct iovec part = {text, sizeof text};
        CHECK(vmsplice(one[1], &part, 1, 0) == 100);
        spin(30000);
        CHECK(tee(one[0], two[1], 100, 0) == 100);
        CHECK(read(two[0], got, 100) == 100 && memcmp(got, text, 100) == 0);
        spin(30000);
        CHECK(read(one[0], got, 100) == 100 && memcmp(got, text, 100) == 0);
        CHECK(read(one[0], got, 1) == -1 && errno == EAGAIN);
    }
    puts("ok");
}
