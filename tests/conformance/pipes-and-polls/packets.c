// A pipe with O_DIRECT and a SEQPACKET socket keep the boundaries of writes.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "check.h"

int main(void) {
    int ends[2], sockets[2];
    CALL(pipe2(ends, O_DIRECT));
    CALL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
    for (int round = 0; round < 100; ++round) {
        char text[64];
        for (int i = 1; i <= 3; ++i) CHECK(write(ends[1], "abcdef", (size_t)i + 1) == i + 1);
        for (int i = 1; i <= 3; ++i) CHECK(send(sockets[0], "uvwxyz", (size_t)i + 2, 0) == i + 2);
        spin(60000);
        int waiting = 0;
        CALL(ioctl(ends[0], FIONREAD, &waiting));
        CHECK(waiting == 9);
        for (int i = 1; i <= 3; ++i) CHECK(read(ends[0], text, sizeof text) == i + 1);
        CHECK(recv(sockets[1], text, 2, MSG_PEEK | MSG_TRUNC) == 3);
        for (int i = 1; i <= 3; ++i) CHECK(recv(sockets[1], text, sizeof text, 0) == i + 2);
    }
    puts("ok");
}
