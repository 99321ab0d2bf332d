// A descriptor that is sent through a socket refers to the same open file at the other side.
#include <sys/mman.h>
#include <sys/socket.h>

#include "child.h"

static void send_descriptor(int socket, int file) {
    char byte = 'd';
    struct iovec part = {&byte, 1};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &file, sizeof file);
    CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_descriptor(int socket) {
    char byte;
    struct iovec part = {&byte, 1};
    char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    CHECK(recvmsg(socket, &message, 0) == 1 && byte == 'd');
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    CHECK(header && header->cmsg_type == SCM_RIGHTS);
    int file;
    memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
}

int main(void) {
    int ends[2];
    CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    const pid_t child = CALL(fork());
    for (int round = 0; round < 60; ++round) {
        if (child == 0) {
            const int file = CALL(memfd_create("sent", 0));
            CHECK(write(file, &round, sizeof round) == sizeof round);
            send_descriptor(ends[1], file);
            CALL(close(file));
            spin(30000);
            continue;
        }
        const int file = receive_descriptor(ends[0]);
        int value = -1;
        spin(30000);
        CHECK(lseek(file, 0, SEEK_CUR) == sizeof value);
        CHECK(pread(file, &value, sizeof value, 0) == sizeof value && value == round);
        CALL(close(file));
    }
    if (child == 0) _exit(0);
    expect_exit(child, 0);
    puts("ok");
}
