// Signals that are ignored do not end recv on a socket with SO_RCVTIMEO.
#include <sys/socket.h>

#include "ignored.h"

static int ends[2];

static void wake(void) {
    CHECK(send(ends[1], "x", 1, 0) == 1);
}

static long enter(void) {
    char byte;
    return recv(ends[0], &byte, 1, 0) - 1;
}

int main(void) {
    CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    const struct timeval timeout = {.tv_sec = 300};
    CALL(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout));
    check_ignored(enter, wake);
    printf("ok\n");
}
