// recvmsg without a time-out goes on behind handlers with SA_RESTART and behind stops.
#include <sys/socket.h>

#include "waiting.h"

static int ends[2];

static void wake(void) {
    CHECK(send(ends[1], "hello", 5, 0) == 5);
}

static long enter(void) {
    char text[8];
    struct iovec part = {text, sizeof text};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const long result = recvmsg(ends[0], &message, 0);
    CHECK(result < 0 || (message.msg_flags == 0 && memcmp(text, "hello", 5) == 0));
    return result;
}

int main(void) {
    CALL(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    check_waiting(&(struct waiting_call){enter, wake, .done = 5, .restarts = true});
}
