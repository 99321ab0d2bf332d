// A pipe accepts as many bytes as its capacity, then is full until a page is read.
#include <fcntl.h>

#include "check.h"

int main(void) {
    static char page[4096];
    int ends[2];
    CALL(pipe2(ends, O_NONBLOCK));
    if (fcntl(ends[1], F_SETPIPE_SZ, 8 * 4096) < 0) skip("the size of pipes is fixed");
    CHECK(fcntl(ends[0], F_GETPIPE_SZ) == 8 * 4096);
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 8; ++i) {
            memset(page, round + i, sizeof page);
            CHECK(write(ends[1], page, sizeof page) == sizeof page);
            spin(6000);
        }
        CHECK(write(ends[1], page, 1) == -1 && errno == EAGAIN);
        for (int i = 0; i < 8; ++i) {
            CHECK(read(ends[0], page, sizeof page) == sizeof page);
            CHECK(page[0] == (char)(round + i) && page[4095] == (char)(round + i));
        }
        CHECK(read(ends[0], page, 1) == -1 && errno == EAGAIN);
        spin(20000);
    }
    puts("ok");
}
