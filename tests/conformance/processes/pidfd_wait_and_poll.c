// A pidfd is readable from the child's end on, and waitid takes it.
#include <poll.h>
#include <sys/syscall.h>

#include "child.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

int main(void) {
    for (int round = 0; round < 40; ++round) {
        int gate[2];
        CALL(pipe(gate));
        const pid_t child = CALL(fork());
        if (child == 0) {
            char byte;
            CHECK(read(gate[0], &byte, 1) == 1);
            _exit(4);
        }
        const int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
        if (descriptor < 0 && (errno == ENOSYS || errno == EPERM)) {
            CHECK(write(gate[1], "x", 1) == 1);
            expect_exit(child, 4);
            skip("no pidfd_open");
        }
        CHECK(descriptor >= 0);
        struct pollfd one = {descriptor, POLLIN, 0};
        spin(40000);
        CHECK(poll(&one, 1, 0) == 0);
        CHECK(write(gate[1], "x", 1) == 1);
        CHECK(poll(&one, 1, -1) == 1);
        CHECK(one.revents & POLLIN);
        siginfo_t info = {0};
        CALL(waitid((idtype_t)P_PIDFD, (id_t)descriptor, &info, WEXITED));
        CHECK(info.si_pid == child && info.si_status == 4);
        close(descriptor);
        close(gate[0]);
        close(gate[1]);
    }
    puts("ok");
}
