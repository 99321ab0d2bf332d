// A supervisor answers the calls of another process, and gets only calls that the process made.
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "filter.h"

enum { calls = 40 };

static void send_descriptor(int socket, int file) {
    char byte = 'd', control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &file, sizeof file);
    CHECK(sendmsg(socket, &message, 0) == 1);
}

static int receive_descriptor(int socket) {
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, 0) != 1) return -1;
    int file = -1;
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

// All calls that make processes or map memory also go to the supervisor, so that it would see
// injected calls.
static void supervised(int socket) {
    const int listener = INSTALL(
        SECCOMP_FILTER_FLAG_NEW_LISTENER, ON_X86_64, ANSWER_TO(SYS_getppid, SECCOMP_RET_USER_NOTIF),
        ANSWER_TO(SYS_clone, SECCOMP_RET_USER_NOTIF), ANSWER_TO(SYS_wait4, SECCOMP_RET_USER_NOTIF),
        ANSWER_TO(SYS_kill, SECCOMP_RET_USER_NOTIF), ANSWER_TO_OTHERS(SECCOMP_RET_ALLOW));
    send_descriptor(socket, listener);
    CALL(close(listener));
    for (int call = 0; call < calls; ++call) {
        spin(100000);
        CHECK(syscall(SYS_getppid) == 1000 + call);
    }
    _exit(92);
}

int main(void) {
    int ends[2];
    CALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    const pid_t child = CALL(fork());
    if (child == 0) supervised(ends[1]);
    CALL(close(ends[1]));
    const int listener = receive_descriptor(ends[0]);
    if (listener < 0) {
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (WEXITSTATUS(status) == status_skipped) skip("filters are refused");
        CHECK(!"no listener");
    }
    for (int call = 0; call < calls; ++call) {
        struct seccomp_notif asked;
        memset(&asked, 0, sizeof asked);
        CALL(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked));
        CHECK(asked.data.nr == SYS_getppid && asked.pid == (uint32_t)child);
        struct seccomp_notif_resp answer = {.id = asked.id, .val = 1000 + call};
        CALL(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer));
    }
    expect_exit(child, 92);
    CALL(close(listener));
    puts("ok");
}
