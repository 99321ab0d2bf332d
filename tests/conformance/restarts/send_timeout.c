// send with SO_SNDTIMEO waits for the whole time; only handlers and stops make it return EINTR.
#include <sys/socket.h>

#include "waiting.h"

static int ends[2], drained[2];

static void set_timeout(int file, int option, struct timeval timeout) {
    CALL(setsockopt(file, SOL_SOCKET, option, &timeout, sizeof timeout));
}

static char text[512];

// A sender is woken when half of the room is free, so this frees all of it.
static void wake(void) {
    char taken[512];
    while (recv(ends[1], taken, sizeof taken, MSG_DONTWAIT) > 0) {
    }
    CHECK(write(drained[1], "x", 1) == 1);
}

static void fill(void) {
    while (send(ends[0], text, sizeof text, MSG_DONTWAIT) > 0) {
    }
    CHECK(errno == EAGAIN);
}

static long enter(void) {
    const long result = send(ends[0], text, sizeof text, 0);
    if (result < 0) return -1;
    char byte;
    CHECK(read(drained[0], &byte, 1) == 1);
    fill();
    return result;
}

int main(void) {
    CALL(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    CALL(pipe(drained));
    set_timeout(ends[0], SO_SNDTIMEO, (struct timeval){.tv_usec = 1000});
    fill();
    for (int round = 0; round < 20; ++round) {
        spin(50000);
        CHECK(enter() == -1 && errno == EAGAIN);
    }
    set_timeout(ends[0], SO_SNDTIMEO, (struct timeval){.tv_sec = 300});
    check_waiting(&(struct waiting_call){enter, wake, .done = 512});
}
