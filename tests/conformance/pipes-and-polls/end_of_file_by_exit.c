// A pipe is at its end when the only process with a writing end has exited and was waited for.
#include <fcntl.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 60; ++round) {
        int ends[2];
        CALL(pipe2(ends, O_NONBLOCK));
        const pid_t child = CALL(fork());
        if (child == 0) {
            for (int part = 0; part < 5; ++part) spin(20000);
            CHECK(write(ends[1], "x", 1) == 1);
            spin(20000);
            _exit(0);
        }
        CALL(close(ends[1]));
        expect_exit(child, 0);
        char bytes[4];
        CHECK(read(ends[0], bytes, sizeof bytes) == 1);
        CHECK(read(ends[0], bytes, sizeof bytes) == 0);
        CALL(close(ends[0]));
    }
    puts("ok");
}
