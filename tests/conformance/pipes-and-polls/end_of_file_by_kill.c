// A socket is at its end when the only process with its other end was killed at its work.
#include <sys/socket.h>

#include "child.h"

int main(void) {
    for (int round = 0; round < 50; ++round) {
        int ends[2];
        CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        const pid_t child = CALL(fork());
        if (child == 0) {
            CHECK(write(ends[1], "x", 1) == 1);
            spin_for_ever();
        }
        CALL(close(ends[1]));
        char byte;
        CHECK(read(ends[0], &byte, 1) == 1);
        spin(20000 + (uint64_t)round * 5000);
        CALL(kill(child, SIGKILL));
        expect_killed(child, SIGKILL);
        CHECK(recv(ends[0], &byte, 1, MSG_DONTWAIT) == 0);
        CALL(close(ends[0]));
    }
    puts("ok");
}
