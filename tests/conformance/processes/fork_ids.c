// A child has its own process id, its parent's id as getppid, and its own thread id.
#include <sys/syscall.h>

#include "child.h"

int main(void) {
    const pid_t self = getpid();
    for (int round = 0; round < 60; ++round) {
        const pid_t child = CALL(fork());
        if (child == 0) {
            spin(30000);
            CHECK(getppid() == self);
            CHECK(getpid() != self);
            CHECK(syscall(SYS_gettid) == getpid());
            CHECK(getpgrp() == getpgid(self));
            CHECK(getsid(0) == getsid(self));
            _exit(0);
        }
        spin(60000);
        CHECK(child != self);
        CHECK(getpid() == self);
        CHECK(syscall(SYS_gettid) == self);
        expect_exit(child, 0);
    }
    puts("ok");
}
