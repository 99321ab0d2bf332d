// A message's sender has its id in the receiver's PID namespace, or 0 if it has none there.
#include <sys/socket.h>

#include "enter.h"

static int ends[2];

static pid_t sender(void) {
    char byte, control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    CHECK(recvmsg(ends[0], &message, 0) == 1);
    struct ucred who;
    memcpy(&who, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof who);
    return who.pid;
}

static void body(void) {
    CHECK(sender() == 0);
    for (int round = 0; round < 4; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(40000);
            CHECK(send(ends[1], "x", 1, 0) == 1);
            _exit(0);
        }
        CHECK(sender() == child);
        expect_exit(child, 0);
    }
}

int main(void) {
    enter_user_namespace(0);
    CALL(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    const int on = 1;
    CALL(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    for (int round = 0; round < 10; ++round) {
        CHECK(send(ends[1], "x", 1, 0) == 1);
        as_init(body);
    }
    puts("ok");
}
