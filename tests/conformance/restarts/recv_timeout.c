// recv with SO_RCVTIMEO waits for the whole time; only handlers and stops make it return EINTR.
#include <sys/socket.h>

#include "waiting.h"

static int ends[2];

static void set_timeout(int file, int option, struct timeval timeout) {
    CALL(setsockopt(file, SOL_SOCKET, option, &timeout, sizeof timeout));
}

static void wake(void) {
    CHECK(send(ends[1], "hello", 5, 0) == 5);
}

static long enter(void) {
    char text[8];
    return recv(ends[0], text, sizeof text, 0);
}

int main(void) {
    CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    set_timeout(ends[0], SO_RCVTIMEO, (struct timeval){.tv_usec = 1000});
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        CHECK(enter() == -1 && errno == EAGAIN);
    }
    set_timeout(ends[0], SO_RCVTIMEO, (struct timeval){.tv_sec = 300});
    check_waiting(&(struct waiting_call){enter, wake, .done = 5});
}
