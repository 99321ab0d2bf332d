// The other end of a socket pair sees at once that its peer was closed.
#include <poll.h>
#include <sys/socket.h>

#include "check.h"

int main(void) {
    for (int round = 0; round < 200; ++round) {
        int ends[2];
        CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        CHECK(send(ends[0], "bye", 3, 0) == 3);
        spin(60000);
        CALL(close(ends[0]));
        char text[8];
        CHECK(recv(ends[1], text, sizeof text, MSG_DONTWAIT) == 3);
        CHECK(recv(ends[1], text, sizeof text, MSG_DONTWAIT) == 0);
        CHECK(send(ends[1], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
        struct pollfd one = {ends[1], POLLIN, 0};
        CHECK(poll(&one, 1, 0) == 1 && (one.revents & POLLHUP));
        CALL(close(ends[1]));
    }
    puts("ok");
}
