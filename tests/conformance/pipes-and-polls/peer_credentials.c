// A socket tells who made its other end, and who sent a message.
#include <sys/socket.h>

#include "child.h"

int main(void) {
    int ends[2];
    CALL(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    const int on = 1;
    CALL(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    for (int round = 0; round < 50; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(30000);
            CHECK(send(ends[1], "x", 1, 0) == 1);
            _exit(0);
        }
        char byte, control[CMSG_SPACE(sizeof(struct ucred))];
        struct iovec part = {&byte, 1};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        CHECK(recvmsg(ends[0], &message, 0) == 1);
        struct cmsghdr* header = CMSG_FIRSTHDR(&message);
        CHECK(header && header->cmsg_type == SCM_CREDENTIALS);
        struct ucred who;
        memcpy(&who, CMSG_DATA(header), sizeof who);
        CHECK(who.pid == child && who.uid == getuid());
        socklen_t length = sizeof who;
        CALL(getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &who, &length));
        CHECK(who.pid == getpid());
        spin(30000);
        expect_exit(child, 0);
    }
    puts("ok");
}
